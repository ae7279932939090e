#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"

/// --files-from: corpora given as a list of files.
namespace quern {
namespace {

using namespace testing;

std::string one_document(const std::string& id) { return "{\"id\":\"" + id + "\",\"contents\":\"water mill\"}\n"; }

std::string docnos_of(const std::string& index) {
  std::string docnos;
  for (const std::string& line : lines_of(run_quern({"inspect", index, "--docs"}).out))
    if (const std::size_t tab = line.find('\t'); tab != line.npos)
      docnos += line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1) + " ";
  return docnos;
}

}  // namespace

TEST_CASE("a list of files is read in its order, and gives the same bytes as naming the files", "[cli][files_from]") {
  const TemporaryFolder folder;
  const std::string a = folder.write("crawl/a.jsonl", one_document("a")),
                    b = folder.write("crawl/b.jsonl.gz", gzipped(one_document("b")));
  const std::string list = folder.write("paths.gz", gzipped("# two files\r\nb.jsonl.gz\r\n\r\na.jsonl\r\n"));
  REQUIRE(run_quern({"parse", b, a, "-o", folder.path("named")}).exit_status == 0);
  REQUIRE(run_quern({"parse", "--files-from", list, "--files-root", folder.path("crawl"), "-o", folder.path("listed")})
              .exit_status == 0);
  CHECK(read_file(folder.path("listed")) == read_file(folder.path("named")));

  Surroundings input;
  input.input = "crawl/b.jsonl.gz\n" + a + "\n";
  input.working_folder = folder.path("");
  REQUIRE(run_quern({"index", "--files-from", "-", "--order", "natural", "-o", "index"}, input).exit_status == 0);
  CHECK(docnos_of(folder.path("index")) == "b a ");
}

TEST_CASE("errors in a list of files name the line", "[cli][files_from]") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.jsonl", one_document("a")), output = folder.path("out");
  const auto complaint = [&](const std::string& text) {
    const RunOutcome outcome = run_quern({"index", "--files-from", folder.write("list", text), "-o", output});
    CHECK(outcome.exit_status == 1);
    CHECK_FALSE(std::filesystem::exists(output));
    return outcome.err;
  };
  CHECK(contains(complaint(a + "\n\n" + folder.path("typo") + "\n"),
                 "quern: error: " + folder.path("list") + ", line 3: can't find " + folder.path("typo")));
  CHECK(contains(complaint("\n# nothing\n"), "the list names no file"));
  CHECK(contains(complaint("s3://crawl/1.warc.gz\n"), "line 1: 's3://crawl/1.warc.gz' is a URL"));
  CHECK(run_quern({"index", "--files-from", folder.path("nowhere"), "-o", output}).exit_status == 1);
}

TEST_CASE("a list of files and named ones, or neither, are wrong usage", "[cli][files_from]") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.jsonl", one_document("a")), list = folder.write("list", a + "\n");
  const CommandLine output = {"-o", folder.path("out")};
  for (const auto& [arguments, message] :
       std::vector<std::pair<CommandLine, std::string>>{{{a, "--files-from", list}, "can't be combined with"},
                                                        {{}, "CORPUS or --files-from is required"},
                                                        {{a, "--files-root", folder.path("")}, "--files-from"}}) {
    CommandLine words = {"parse"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), output.begin(), output.end());
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, message));
  }
}

TEST_CASE("output that would overwrite a file of a list, or the list, is wrong usage", "[cli][files_from][output]") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.jsonl", one_document("a")), list = folder.write("list", a + "\n");
  for (const auto& [output, message] :
       {std::pair{a, "a file of the corpus"}, std::pair{list, "would overwrite --files-from"}}) {
    const RunOutcome outcome = run_quern({"parse", "--files-from", list, "-o", output, "--force"});
    INFO(outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, message));
    CHECK(read_file(a) == one_document("a"));
  }
}

}  // namespace quern
