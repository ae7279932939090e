#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Help, versions and wrong usage.
namespace quern {
namespace {

using namespace testing;

const CommandLine commands = {"index", "query", "parse", "order", "build", "inspect", "verify", "analyze"};

}  // namespace

TEST_CASE("every command has a help text with an example, and the program lists them all", "[cli]") {
  const RunOutcome program = run_quern({"--help"});
  CHECK(program.exit_status == 0);
  CHECK(program.err.empty());
  for (const std::string& command : commands) {
    INFO(command);
    CHECK(contains(program.out, "\n  " + command));
    const RunOutcome help = run_quern({command, "--help"});
    CHECK(help.exit_status == 0);
    CHECK(help.err.empty());
    CHECK(contains(help.out, "Example"));
    CHECK(contains(help.out, "quern " + command));
    CHECK(contains(help.out, "-j"));
    CHECK(contains(help.out, "--quiet"));
  }
}

TEST_CASE("the version goes to standard output", "[cli]") {
  const RunOutcome outcome = run_quern({"--version"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out.starts_with("quern 0."));
  CHECK(contains(outcome.out, "CUDA"));
  CHECK(outcome.err.empty());
}

TEST_CASE("wrong usage ends with status 2 and says what is wrong", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  struct Case {
    CommandLine arguments;
    const char* said;
  };
  const std::vector<Case> cases = {
      {{}, "subcommand"},
      {{"grind"}, "grind"},
      {{"--nonsense"}, "nonsense"},
      {{"index"}, "required"},
      {{"index", "-o", "x"}, "CORPUS"},
      {{"index", corpus, "-o", "x", "--nonsense"}, "nonsense"},
      {{"index", corpus, "-o", "x", "--codec", "zip"}, "newpfd"},
      {{"index", corpus, "-o", "x", "--block-size", "100"}, "block-size"},
      {{"index", corpus, "-o", "x", "--recursion", "5"}, "recursion"},
      {{"index", corpus, "-o", "x", "--memory", "lots"}, "memory"},
      {{"index", corpus, "-o", "x", "--threads", "0"}, "threads"},
      {{"index", corpus, "-o", "x", "--order", "alphabet"}, "natural"},
      {{"index", corpus, "-o", "x", "--b", "1.5"}, "--b"},
      {{"index", corpus, "-o", "x", "--k1", "-1"}, "--k1"},
      {{"index", corpus, "-o", "x", "--format", "pdf"}, "trecweb"},
      {{"index", corpus, "-o", "x", "--stemmer", "lancaster"}, "porter2"},
      {{"index", corpus, "-o", "x", "--duplicates", "drop"}, "refuse"},
      {{"index", corpus, "-o", "x", "--max-errors", "-3"}, "max-errors"},
      {{"index", corpus, "-o", "x", "--seed", "-3"}, "seed"},
      {{"index", corpus, "-o", "x", "--max-document", "big"}, "max-document"},
      {{"order", "x", "-o", "y", "--by", "size"}, "natural"},
      {{"order", "x"}, "--output"},
      {{"build", "-o", "y"}, "COLLECTION"},
      {{"query", index}, "quer"},
      {{"query", index, "--query", "mill", "-q", "-"}, "quer"},
      {{"query", index, "--query", "mill", "-k", "0"}, "-k"},
      {{"query", index, "--query", "mill", "-k", "-1"}, "-k"},
      {{"query", index, "--query", "mill", "-k", "many"}, "-k"},
      {{"query", index, "--query", "mill", "-a", "guess"}, "and"},
      {{"query", index, "--query", "mill", "--output-format", "xml"}, "trec"},
      {{"query", index, "--query", "mill", "--queries-format", "sql"}, "auto"},
      {{"query", index, "--query", "mill", "--idf", "none"}, "lucene"},
      {{"query", "--query", "mill"}, "INDEX"},
      {{"inspect"}, "PATH"},
      {{"verify"}, "PATH"},
      {{"analyze", "--stemmer", "none?"}, "porter2"},
  };
  Surroundings here;
  here.working_folder = folder.path("");
  for (const Case& wrong : cases) {
    std::string words;
    for (const std::string& word : wrong.arguments) words += " " + word;
    INFO("quern" << words);
    const RunOutcome outcome = run_quern(wrong.arguments, here);
    CHECK(outcome.exit_status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("quern: error: "));
    INFO(outcome.err);
    CHECK(contains(outcome.err, wrong.said));
    CHECK(contains(outcome.err, "--help"));
  }
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "index"});
}

}  // namespace quern
