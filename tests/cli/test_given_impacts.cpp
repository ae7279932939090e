#include <filesystem>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Weights given by a corpus, and weighted queries, on the command line.
namespace quern {
namespace {

using namespace testing;

const std::string vectors =
    "{\"id\": \"a\", \"contents\": \"Water mill\", \"vector\": {\"water\": 1.5, \"##mill\": 2}}\n"
    "{\"id\": \"b\", \"contents\": \"Wind mill\", \"vector\": {\"wind\": 0.01, \"##mill\": 0.7}}\n"
    "{\"id\": \"c\", \"contents\": \"Water\", \"vector\": {\"water\": 3, \"unused\": 0}}\n";

RunOutcome succeed_with(const CommandLine& words) {
  RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome;
}

std::string index_of_vectors(const TemporaryFolder& folder) {
  const std::string index = folder.path("index");
  succeed_with(
      {"index", folder.write("vectors.jsonl", vectors), "--impacts", "16", "--impact-scale", "100", "-o", index});
  return index;
}

}  // namespace

TEST_CASE("an index of given weights ranks documents by their sums", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of_vectors(folder);
  succeed_with({"verify", index});
  const std::string queries = folder.write("queries.jsonl",
                                           "{\"id\": \"q1\", \"vector\": {\"water\": 0.5, \"##mill\": 1}}\n"
                                           "{\"id\": \"q2\", \"vector\": {\"Water\": 1}}\n"
                                           "{\"id\": \"q3\", \"vector\": {\"wind\": 2, \"water\": 0}}\n");
  const CommandLine query = {"query", index, "-q", queries, "--queries-format", "vector", "--query-scale", "10"};
  CHECK(succeed_with(query).out ==
        "q1 Q0 a 1 2750 quern\nq1 Q0 c 2 1500 quern\nq1 Q0 b 3 700 quern\nq3 Q0 b 1 20 quern\n");
  for (const char* algorithm : {"or", "wand", "bmw", "maxscore"}) {
    CommandLine words = query;
    words.insert(words.end(), {"-a", algorithm});
    CHECK(succeed_with(words).out == succeed_with(query).out);
  }
  CHECK(succeed_with({"query", index, "--query", "water ##mill water"}).out ==
        "1 Q0 c 1 600 quern\n1 Q0 a 2 500 quern\n1 Q0 b 3 70 quern\n");
  CHECK(succeed_with({"query", index, "--query", "{\"wind\": 3}", "--queries-format", "vector", "--device", "auto"})
            .out == "1 Q0 b 1 3 quern\n");
  CHECK(succeed_with({"intersect", index, "--query", "water ##mill", "--count"}).out == "1\t1\n");
  CHECK(contains(succeed_with({"inspect", index, "##mill"}).out, "0\t200\ta\n1\t70\tb\n"));
  const nlohmann::json figures = succeed_with({"inspect", index, "--json"}).json();
  CHECK(figures["given_impacts"]["bits"] == 16);
  CHECK(figures["given_impacts"]["scale"] == 100.0);
  CHECK(figures["tokens"] == 721);
  CHECK(succeed_with({"analyze", "--index", index, "Water ##mill"}).out == "Water ##mill\n");
  const std::string config = succeed_with({"inspect", index, "--config"}).out;
  CHECK(contains(config, "impacts = 16\nimpact-scale = 100\n"));
  succeed_with(
      {"index", folder.path("vectors.jsonl"), "--config", folder.write("c.conf", config), "-o", folder.path("x")});
  CHECK(read_file(folder.path("x/index.quern")) == read_file(index + "/index.quern"));
}

TEST_CASE("the key of given weights may have another name", "[cli][impacts]") {
  const TemporaryFolder folder;
  std::string renamed = vectors;
  for (std::size_t at = 0; (at = renamed.find("\"vector\"", at)) != renamed.npos;) renamed.replace(at, 8, "\"splade\"");
  const std::string corpus = folder.write("renamed.jsonl", renamed), index = folder.path("renamed");
  const CommandLine weights = {"--impacts", "16", "--impact-scale", "100", "-o"};
  const auto index_with = [&](CommandLine words, const std::string& path) {
    words.insert(words.end(), weights.begin(), weights.end());
    words.push_back(path);
    return words;
  };
  succeed_with(index_with({"index", corpus, "--vector-field", "splade"}, index));
  succeed_with({"verify", index});
  const std::string query = "{\"water\": 0.5, \"##mill\": 1}";
  const auto results = [&](const std::string& path) {
    return succeed_with({"query", path, "--query", query, "--queries-format", "vector", "--query-scale", "10"}).out;
  };
  CHECK(results(index) == results(index_of_vectors(folder)));
  const std::string config = succeed_with({"inspect", index, "--config"}).out;
  CHECK(contains(config, "\nvector-field = splade\n"));
  succeed_with({"index", corpus, "--config", folder.write("c.conf", config), "-o", folder.path("again")});
  CHECK(read_file(folder.path("again/index.quern")) == read_file(index + "/index.quern"));
  const RunOutcome missing = run_quern(index_with({"index", corpus}, folder.path("missing")));
  CHECK(missing.exit_status == 1);
  CHECK(contains(missing.err, "under the key vector"));
  const RunOutcome other = run_quern(
      index_with({"index", folder.path("vectors.jsonl"), "--vector-field", "splade"}, folder.path("missing")));
  CHECK(other.exit_status == 1);
  CHECK(contains(other.err, "under the key splade"));
}

TEST_CASE("stages and exchange keep given weights", "[cli][impacts][interchange]") {
  const TemporaryFolder folder;
  const std::string index = index_of_vectors(folder), collection = folder.path("collection");
  succeed_with({"parse", folder.path("vectors.jsonl"), "--impacts", "16", "--impact-scale", "100", "-o", collection});
  succeed_with({"verify", collection});
  CHECK(succeed_with({"inspect", collection, "--json"}).json()["given_impacts"]["bits"] == 16);
  succeed_with({"order", collection, "--by", "bisection", "-o", folder.path("order")});
  succeed_with({"build", collection, "--order", folder.path("order"), "-o", folder.path("ordered")});
  succeed_with({"verify", folder.path("ordered")});
  for (const char* format : {"ciff", "ds2i"}) {
    const std::string file = folder.path(format), again = folder.path(std::string("again-") + format);
    succeed_with({"export", index, "--to", format, "-o", file});
    succeed_with({"import", file, "--impacts", "16", "-o", again});
    succeed_with({"verify", again});
    const CommandLine words = {"--query", "water ##mill"};
    CHECK(succeed_with({"query", again, "--query", "water ##mill"}).out ==
          succeed_with({"query", index, "--query", "water ##mill"}).out);
    succeed_with({"export", again, "--to", "ciff", "-o", again + ".ciff"});
  }
  CHECK(read_file(folder.path("again-ciff.ciff")) == read_file(folder.path("ciff")));
}

TEST_CASE("ordinary indexes also accept weighted queries", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  succeed_with({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index});
  const auto vector = [&](const std::string& text) {
    return succeed_with({"query", index, "--query", text, "--queries-format", "vector"}).out;
  };
  CHECK(vector("{\"water\": 1, \"mill\": 2}") == succeed_with({"query", index, "--query", "mill water mill"}).out);
  CHECK(vector("{\"water\": 0.25, \"mill\": 0.5}") != vector("{\"water\": 0.5, \"mill\": 0.25}"));
  CHECK(vector("{\"Water\": 1}").empty());
}

TEST_CASE("options and values that vectors and given weights don't allow are refused", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of_vectors(folder), out = folder.path("out");
  struct Case {
    CommandLine words;
    int exit_status;
    std::string message;
  };
  const std::string file = folder.write("one.jsonl", "{\"id\": 1, \"vector\": {\"water\": 0.5}}\n");
  for (const auto& [words, exit_status, message] : {
           Case{{"query", index, "--query", "water", "--scores", "exact"}, 2, "--scores"},
           Case{{"query", index, "--query", "water", "--k1", "2"}, 1, "--k1"},
           Case{{"query", index, "--query", "water", "--idf", "robertson"}, 1, "--idf"},
           Case{{"query", index, "--query", "water", "--scorer", "bm25+pagerank"}, 1, "--scorer"},
           Case{{"query", index, "--query", "water", "--query-scale", "2"}, 2, "--queries-format vector"},
           Case{{"query", index, "-q", file, "--queries-format", "vector"}, 1, "use --query-scale"},
           Case{{"query", index, "-q", file}, 1, "--queries-format vector"},
           Case{{"query", index, "--query", "{\"a\": -1}", "--queries-format", "vector"},
                1,
                "'a' has the negative weight -1"},
           Case{{"query", index, "--query", "{\"a\": 1, \"a\": 1}", "--queries-format", "vector"}, 1, "twice"},
           Case{{"query", index, "-q", folder.write("bad.jsonl", "{\"id\": 1, \"vector\": {\"a\": 1}}\n{\"id\": 2}\n"),
                 "--queries-format", "vector"},
                1,
                "line 2"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "16", "-o", out}, 1, "use --impact-scale"},
           Case{{"index", folder.path("vectors.jsonl"), "--impact-scale", "16", "-o", out}, 2, "--impacts"},
           Case{{"index", folder.path("vectors.jsonl"), "--vector-field", "vector", "-o", out}, 1, "--impacts"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "8", "--text-field", "vector", "-o", out},
                1,
                "'vector' can't be the key of two fields"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "8", "--quantize", "8", "-o", out},
                1,
                "--quantize"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "8", "--k1", "1", "-o", out}, 1, "--k1"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "8", "--stemmer", "porter2", "-o", out},
                2,
                "--stemmer"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "16", "--impact-scale", "100", "--order", "score",
                 "-o", out},
                1,
                "--pagerank"},
           Case{{"index", folder.path("vectors.jsonl"), "--impacts", "16", "--impact-scale", "100", "--forward", "-o",
                 out},
                1,
                "--forward"},
       }) {
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    CHECK(outcome.exit_status == exit_status);
    CHECK(contains(outcome.err, message));
  }
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("weighted queries may also arrive one by one", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string index = index_of_vectors(folder);
  Surroundings input;
  input.input = "{\"id\": \"x\", \"vector\": {\"wind\": 7}}\n\n{\"id\": 2, \"vector\": {}}\n";
  const RunOutcome outcome =
      run_quern({"query", index, "-q", "-", "--queries-format", "vector", "--batch-wait", "0"}, input);
  INFO(outcome.err);
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out == "x Q0 b 1 7 quern\n");
}

}  // namespace quern
