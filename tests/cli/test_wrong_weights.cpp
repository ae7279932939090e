#include <fmt/format.h>

#include "cli/checked_runs.hpp"
#include "corpus/temporary_folder.hpp"

/// Weights, sums and files that learned sparse retrieval can't use: errors that name the query or the file, and the
/// term.
namespace quern {
namespace {

using namespace testing;

std::string query_line(const std::string& id, const std::string& vector) {
  return fmt::format("{{\"id\": \"{}\", \"vector\": {}}}\n", id, vector);
}

/// `terms` terms t0, t1 and so on, each with this weight.
std::string many_terms(int terms, int weight) {
  std::string vector = "{";
  for (int i = 0; i < terms; ++i) vector += fmt::format("{}\"t{}\": {}", i == 0 ? "" : ", ", i, weight);
  return vector + "}";
}

std::string index_of(const TemporaryFolder& folder, const std::string& lines) {
  const std::string corpus = folder.write("documents.jsonl", lines), index = folder.path("index");
  run_well({"index", corpus, "--impacts", "8", "-o", index});
  return index;
}

}  // namespace

TEST_CASE("a wrong query of a file is named, whatever is wrong with it", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index =
      index_of(folder, query_line("D1", "{\"a\": 3, \"b\": 200}") + query_line("D2", "{\"c\": 1}"));
  struct Wrong {
    std::string vector;
    CommandLine parts;
  };
  for (const auto& [vector, parts] : {
           Wrong{"{\"a\": 1.5}", {"query q7: the weight 1.5 of the query's term 'a'", "--query-scale"}},
           Wrong{"{\"a\": 1e9}", {"query q7: the weight 1000000000 of the query's term 'a' is too large"}},
           Wrong{"{\"a\": 1e7}", {"query q7: ", "could score 30000000", "scale its weights down"}},
           Wrong{"{\"a\": -1}", {"line 2", "'a' has the negative weight -1"}},
           Wrong{"{\"a\": NaN}", {"line 2", "'a' is not a finite number"}},
           Wrong{"{\"a\": 1e400}", {"line 2", "'a' is not a finite number"}},
           Wrong{"{\"a\": 1, \"a\": 1}", {"line 2", "the term 'a' occurs twice"}},
       }) {
    const std::string file = folder.write(
        "queries", query_line("q1", "{\"b\": 1}") + query_line("q7", vector) + query_line("q8", "{\"a\": 0.5}"));
    for (const CommandLine& more : {CommandLine{}, {"--batch-wait", "0"}}) {
      CommandLine words = {"query", index, "-q", file, "--queries-format", "vector", "-o", folder.path("run")};
      words.insert(words.end(), more.begin(), more.end());
      check_failure(words, parts);
    }
  }
}

TEST_CASE("a query of 65,536 terms that has no room, or too large a sum, is named", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of(folder, query_line("D1", many_terms(65536, 3)) + query_line("D2", "{\"t1\": 2}"));
  const auto ask = [&](int terms, int weight, const std::string& memory) {
    const std::string lines = query_line("q1", "{\"t1\": 1}") + query_line("q9", many_terms(terms, weight));
    return run_quern(
        {"query", index, "-q", folder.write("q", lines), "--queries-format", "vector", "--memory", memory});
  };
  CHECK(contains(ask(4096, 2, "1G").out, "q9 Q0 D1 1 24576 quern\n"));
  const RunOutcome large = ask(65536, 2, "64M"), sum = ask(65536, 100, "4G");
  CHECK(large.exit_status == 1);
  CHECK(contains(large.err, "query q9: a query needs"));
  CHECK(contains(large.err, "raise --memory"));
  CHECK(sum.exit_status == 1);
  CHECK(contains(sum.err, "query q9: a query of 65536 terms could score 19660"));
}

TEST_CASE("queries of another vocabulary are told of once", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of(folder, query_line("D1", "{\"a\": 3}"));
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += query_line(std::to_string(i), fmt::format("{{\"z{}\": 1}}", i));
  const RunOutcome outcome = run_well({"query", index, "-q", folder.write("q", lines), "--queries-format", "vector"});
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "the index has no term of 50 queries; the first is 0: {\"z0\":1}"));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

TEST_CASE("arrays and tables of Python are named, with a remedy", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of(folder, query_line("D1", "{\"a\": 3}"));
  using namespace std::string_literals;
  const std::string entry =
                        "PK\x03\x04\x14\x00\x00\x00\x08\x00"s + std::string(16, '\0') + "\x0b\x00\x00\x00indices.npy"s,
                    qrels = folder.write("qrels", "1 0 a 1\n"), out = folder.path("out");
  for (const auto& [bytes, name] : {std::pair{entry, "a NumPy or SciPy archive (.npz)"},
                                    {"PAR1\x15\x04"s, "a Parquet file"},
                                    {"ARROW1\0\0"s, "an Arrow file"},
                                    {"\xff\xff\xff\xff\x10\x01\0\0"s, "an Arrow stream"},
                                    {"FEA1\0\0\0\0"s, "a Feather file"},
                                    {"\x89HDF\r\n\x1a\n"s, "an HDF5 file"}}) {
    const std::string file = folder.write("file", bytes + std::string(600, '\1'));
    for (const CommandLine& words : {CommandLine{"index", file, "--impacts", "8", "-o", out},
                                     {"query", index, "-q", file, "--queries-format", "vector"},
                                     {"query", index, "-q", file},
                                     {"eval", file, qrels},
                                     {"eval", qrels, "--exact", file},
                                     {"import", file, "-o", out}})
      check_failure(words, {file, name, "quern.index()", ".csr"});
  }
  const std::string array = folder.write("array", "\x93NUMPY\x01\0v\0"s);
  check_failure({"index", array, "--impacts", "8", "-o", out}, {array, "a NumPy array (.npy)", "quern.index()"});
  // Other archives are to be unpacked.
  const std::string zip = folder.write("zip", "PK\x03\x04 and so on");
  check_failure({"index", zip, "--impacts", "8", "-o", out}, {zip, "a zip archive", "unzip"});
}

TEST_CASE("a weight of a CIFF file that needs more bits is named with term and document",
          "[cli][impacts][interchange]") {
  const TemporaryFolder folder;
  const std::string index =
                        index_of(folder, query_line("D1", "{\"a\": 3}") + query_line("D2", "{\"a\": 1, \"b\": 200}")),
                    ciff = folder.path("weights.ciff");
  run_well({"export", index, "--to", "ciff", "-o", ciff});
  check_failure({"import", ciff, "--impacts", "6", "-o", folder.path("x")},
                {ciff, "the term 'b' has the weight 200 in document 1", "at most 63", "--impacts"});
}

}  // namespace quern
