#include <filesystem>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"

/// quern import and quern export.
namespace quern {
namespace {

using namespace testing;

void succeed(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
}

std::string results(const std::string& index) {
  return run_quern({"query", index, "--query", "water mill wheel", "--output-format", "trec"}).out;
}

}  // namespace

TEST_CASE("an index gives the same answers after export and import", "[cli][interchange]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  succeed({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index});
  REQUIRE(contains(results(index), " b "));
  succeed({"export", index, "--to", "ciff", "-o", folder.path("a.ciff")});
  succeed({"export", index, "--to", "ds2i", "-o", folder.path("a")});
  CHECK(names_in(folder.path("")) ==
        CommandLine{"a.ciff", "a.docs", "a.documents", "a.freqs", "a.sizes", "a.terms", "corpus.jsonl", "index"});
  CHECK(read_file(folder.path("a.terms")) == "mill\nwater\nwheel\nwind\n");

  // pisa is another name of ds2i.
  succeed({"export", index, "--to", "pisa", "-o", folder.path("p")});
  for (const char* ending : {".docs", ".freqs", ".sizes", ".terms", ".documents"})
    CHECK(read_file(folder.path("p") + ending) == read_file(folder.path("a") + ending));
  for (const char* name : {"ds2i", "pisa"})
    succeed({"import", folder.path("a"), "--from", name, "-o", folder.path(name)});
  CHECK(read_file(folder.path("pisa/index.quern")) == read_file(folder.path("ds2i/index.quern")));

  folder.write("a.ciff.gz", gzipped(read_file(folder.path("a.ciff"))));
  for (const char* from : {"a.ciff", "a.ciff.gz", "a"}) {
    INFO(from);
    const std::string again = folder.path(std::string("again ") + from);
    succeed({"import", folder.path(from), "-o", again, "--codec", "rice"});
    succeed({"verify", again});
    CHECK(results(again) == results(index));
  }
  // Exporting again gives the same files.
  succeed({"export", folder.path("again a"), "--to", "ciff", "-o", folder.path("b.ciff"), "--quiet"});
  CHECK(read_file(folder.path("b.ciff")) == read_file(folder.path("a.ciff")));
}

TEST_CASE("import reads standard input and prints figures", "[cli][interchange]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  succeed({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index});
  const RunOutcome out = run_quern({"export", index, "--to", "ciff", "-o", folder.path("a"), "--json"});
  CHECK(out.json()["terms"] == 4);
  Surroundings input;
  input.input = read_file(folder.path("a"));
  const RunOutcome in = run_quern({"import", "-", "-o", folder.path("b"), "--json"}, input);
  REQUIRE(in.exit_status == 0);
  CHECK(in.json()["documents"] == 3);
  CHECK(in.json()["postings"] == 6);
  CHECK(run_quern({"inspect", folder.path("b"), "--json"}).exit_status == 0);
}

TEST_CASE("import and export refuse bad input and leave nothing", "[cli][interchange]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  succeed({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index});
  CHECK(run_quern({"export", index, "-o", folder.path("a")}).exit_status == 2);
  CHECK(run_quern({"export", index, "--to", "lucene", "-o", folder.path("a")}).exit_status == 2);
  CHECK(run_quern({"import", folder.path("missing"), "-o", folder.path("a")}).exit_status == 1);
  const RunOutcome outcome = run_quern({"import", folder.path("corpus.jsonl"), "-o", folder.path("a")});
  CHECK(outcome.exit_status == 1);
  CHECK(contains(outcome.err, "corpus.jsonl"));
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "index"});

  folder.write("a.sizes", "mine");
  CHECK(run_quern({"export", index, "--to", "ds2i", "-o", folder.path("a")}).exit_status == 1);
  CHECK(names_in(folder.path("")) == CommandLine{"a.sizes", "corpus.jsonl", "index"});
  CHECK(run_quern({"export", index, "--to", "ds2i", "-o", folder.path("a"), "--force"}).exit_status == 0);
  // A file is missing.
  std::filesystem::remove(folder.path("a.freqs"));
  CHECK(contains(run_quern({"import", folder.path("a"), "-o", folder.path("b")}).err, "a.freqs"));
}

}  // namespace quern
