#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <tuple>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Help, versions and wrong usage.
namespace quern {
namespace {

using namespace testing;

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& line : lines_of(text)) longest = std::max(longest, line.size());
  return longest;
}

/// Lines that start with an option's names.
std::size_t count_options(const std::string& help) {
  std::size_t options = 0;
  for (const std::string& line : lines_of(help.substr(0, help.find("\nExamples:"))))
    if (line.starts_with("  -") || line.starts_with("      --")) ++options;
  return options;
}

/// The options of each command, as "quern index --forward" and as "--forward".
std::set<std::string> all_options() {
  static const std::regex shape("\\n {2,6}(?:-[a-z], )?--([a-z0-9-]+)");
  std::set<std::string> options;
  for (CommandLine command : all_commands()) {
    std::string name = "quern";
    for (const std::string& word : command) name += " " + word;
    command.push_back("--help-all");
    const std::string help = run_quern(command).out;
    for (std::sregex_iterator found(help.begin(), help.end(), shape), end; found != end; ++found)
      options.insert({name + " --" + found->str(1), "--" + found->str(1)});
  }
  return options;
}

/// The options in the library's messages, as the command line spells them.
std::set<std::string> options_in_messages() {
  static const std::regex shape("option_name<\"([a-z0-9 -]+)\">");
  std::set<std::string> options;
  for (const char* folder : {"/lib", "/formats"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(QUERN_SOURCE_DIR) + folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), shape), end; found != end; ++found) {
        const std::string words = found->str(1);
        const std::size_t space = words.rfind(' ');
        options.insert(space == words.npos ? "--" + words
                                           : "quern " + words.substr(0, space) + " --" + words.substr(space + 1));
      }
    }
  }
  return options;
}

}  // namespace

TEST_CASE("options that the library's messages name exist", "[cli][help]") {
  const std::set<std::string> named = options_in_messages(), known = all_options();
  CHECK(named.size() > 40);
  for (const std::string& option : named) {
    INFO(option);
    CHECK(known.count(option) == 1);
  }
}

TEST_CASE("every command has a help text with an example, and the program lists them all", "[cli][help]") {
  const RunOutcome program = run_quern({"--help"});
  CHECK(program.exit_status == 0);
  CHECK(program.err.empty());
  const std::vector<CommandLine> commands = all_commands();
  REQUIRE(commands.size() > 20);
  for (CommandLine command : commands) {
    std::string name = "quern";
    for (const std::string& word : command) name += " " + word;
    INFO(name);
    if (command.size() == 1) CHECK(contains(program.out, "\n  " + command[0]));
    const RunOutcome page = run_quern([&] {
      CommandLine words = {"help"};
      words.insert(words.end(), command.begin(), command.end());
      return words;
    }());
    command.push_back("--help");
    const RunOutcome help = run_quern(command);
    CHECK(help.exit_status == 0);
    CHECK(help.err.empty());
    CHECK(contains(help.out, "Usage: " + name));
    CHECK(page.out == help.out);
    if (!contains(help.out, "Commands:")) {
      CHECK(contains(help.out, "Examples:\n"));
      CHECK(contains(help.out.substr(help.out.find("Examples:")), name));
    }
    if (contains(help.out, "--threads")) CHECK(contains(help.out, "--quiet"));
  }
}

TEST_CASE("help shows at most 20 options under headings, and says where the others are", "[cli][help]") {
  for (CommandLine command : all_commands()) {
    INFO(command.back());
    command.push_back("--help");
    const std::string help = run_quern(command).out;
    command.back() = "--help-all";
    const std::string whole = run_quern(command).out;
    CHECK(count_options(help) <= 20);
    CHECK(contains(help, "\nResources:\n") == contains(help, "--threads N"));
    CHECK(contains(help, " --help-all\n") == (count_options(help) < count_options(whole)));
    CHECK_FALSE(contains(whole, " more options: "));
  }
}

TEST_CASE("an option that means another thing in another command is under its own heading", "[cli][help]") {
  const std::string eval = run_quern({"eval", "--help-all"}).out, analyze = run_quern({"analyze", "--help-all"}).out;
  CHECK((eval.find("\nMeasures:") < eval.find("--seed") && eval.find("--seed") < eval.find("\nOutput:")));
  CHECK((eval.find("\nOutput:") < eval.find("--html") && eval.find("--html") < eval.find("\nResources:")));
  CHECK(analyze.find("\nCorpus:") < analyze.find("--html"));
  // Each names the heading before it and the one after it.
  const std::vector<std::tuple<CommandLine, std::string, std::string>> seeds = {
      {{"order"}, "Document order", "Output"},
      {{"simulate", "schedule"}, "Scheduling", "Output"},
      {{"bench", "codec"}, "Synthetic data", "Measurement"},
      {{"synth"}, "Synthetic data", "Queries"}};
  for (const auto& [command, heading, next] : seeds) {
    INFO(command.back());
    CommandLine words = command;
    words.push_back("--help-all");
    const std::string help = run_quern(words).out;
    const std::size_t seed = help.find("--seed"), end = help.find("\n" + next + ":");
    CHECK((help.find("\n" + heading + ":") < seed && seed < end && end != help.npos));
  }
}

TEST_CASE("without any word, the program prints its help", "[cli][help]") {
  const RunOutcome outcome = run_quern({});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out == run_quern({"--help"}).out);
}

TEST_CASE("messages name options that their command has, and else what serves instead", "[cli]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), log = folder.write("log", "mill\n");
  REQUIRE(run_quern({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index}).exit_status == 0);
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  const auto message = [&](CommandLine words) {
    words.insert(words.end(), {index, "-q", log});
    return run_quern(words, no_gpu).err;
  };
  CHECK(contains(message({"query", "--device", "gpu"}), "use --device cpu"));
  CHECK(contains(message({"bench", "gpu"}), "use quern query --device cpu"));
  CHECK(contains(message({"bench", "gpu", "--times", folder.path("times")}), "use quern query --device cpu"));
  CHECK(contains(message({"plan", "--gpu-memory", "1M", "-o", folder.path("plan")}),
                 "raise --gpu-memory, or use quern query --device cpu"));
}

TEST_CASE("help is folded at the width of the terminal, 80 columns if it is unknown", "[cli][help]") {
  for (CommandLine command : all_commands()) {
    INFO(command.back());
    command.push_back("--help");
    CHECK(longest_line(run_quern(command).out) <= 80);
    for (const char* columns : {"100", "72"}) {
      Surroundings terminal;
      terminal.variables = {{"COLUMNS", columns}};
      const std::string help = run_quern(command, terminal).out;
      CHECK(longest_line(help) <= std::stoul(columns));
    }
  }
}

TEST_CASE("the version goes to standard output", "[cli]") {
  const RunOutcome outcome = run_quern({"--version"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out.starts_with("quern 0."));
  CHECK(contains(outcome.out, "CUDA"));
  CHECK(outcome.err.empty());
}

TEST_CASE("wrong usage exits with status 2 and says what is wrong", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  struct Case {
    CommandLine arguments;
    const char* message;
  };
  const std::vector<Case> cases = {
      {{"bench"}, "a command is required"},
      {{"grind"}, "unknown command 'grind'"},
      {{"search"}, "unknown command 'search'; did you mean query?"},
      {{"quary"}, "did you mean query?"},
      {{"bench", "grind"}, "unknown command 'grind'"},
      {{"bench", "gpu"}, "quern bench gpu --help"},
      {{"help", "grind"}, "no command 'grind'"},
      {{"completion", "fish"}, "bash, zsh"},
      {{"--nonsense"}, "nonsense"},
      {{"index"}, "required"},
      {{"index", "-o", "x"}, "CORPUS"},
      {{"index", corpus, "-o", "x", "--nonsense"}, "nonsense"},
      {{"index", corpus, "-o", "x", "--codec", "zip"}, "newpfd"},
      {{"index", corpus, "-o", "x", "--block-size", "100"}, "block-size"},
      {{"index", corpus, "-o", "x", "--recursion", "5"}, "recursion"},
      {{"index", corpus, "-o", "x", "--memory", "lots"}, "memory"},
      {{"index", corpus, "-o", "x", "--memory", "1M"}, "--memory must be at least 32M"},
      {{"index", corpus, "-o", "x", "--threads", "0"}, "threads"},
      {{"index", corpus, "-o", "x", "--order", "alphabet"}, "natural"},
      {{"index", corpus, "-o", "x", "--b", "1.5"}, "--b"},
      {{"index", corpus, "-o", "x", "--k1", "-1"}, "--k1"},
      {{"index", corpus, "-o", "x", "--format", "pdf"}, "trecweb"},
      {{"index", corpus, "-o", "x", "--stemmer", "lancaster"}, "porter2"},
      {{"index", corpus, "-o", "x", "--language", "frensh"}, "spanish, swedish, turkish; did you mean french?"},
      {{"index", corpus, "-o", "x", "--languages", "english"}, "for stemming, use --language"},
      {{"query", index, "--query", "mill", "--language", "french"}, "queries use the index's analyzer"},
      {{"index", corpus, "-o", "x", "--duplicates", "drop"}, "refuse"},
      {{"index", corpus, "-o", "x", "--max-errors", "-3"}, "max-errors"},
      {{"index", corpus, "-o", "x", "--seed", "-3"}, "seed"},
      {{"index", corpus, "-o", "x", "--max-document", "big"}, "max-document"},
      {{"order", "x", "-o", "y", "--by", "size"}, "natural"},
      {{"order", "x"}, "--output"},
      {{"build", "-o", "y"}, "COLLECTION"},
      {{"query", index}, "--query or --queries is required"},
      {{"query", index, "water mill"}, "--query or --queries is required"},
      {{"query", index, "--query", "mill", "--stemmer", "porter2"}, "queries use the index's analyzer"},
      {{"query", index, "--query", "mill", "--algoritm", "or"}, "did you mean --algorithm?"},
      {{"query", index, "--query", "mill", "-K", "5"}, "unknown option -K; did you mean -k?"},
      {{"query", index, "--query", "mill", "--topk", "5"}, "unknown option --topk; did you mean -k?"},
      {{"query", index, "--query", "mill", "--hits=5"}, "unknown option --hits; did you mean -k?"},
      {{"query", index, "--query", "mill", "--quantize", "8"}, "it is an option of quern index"},
      {{"query", index, "--query", "mill", "-k"}, "-k needs a value"},
      {{"query", index, "--query", "mill", "-k", "1", "-k", "2"}, "-k is given more than once"},
      {{"query", index, "--query", "mill", "-q", "-"}, "can't be combined with"},
      {{"query", index, "--query", "mill", "--gpu-options", "cache"}, "cache needs a value"},
      {{"query", index, "--query", "mill", "--gpu-options", "cache=lru,cache=lfu"}, "cache is given more than once"},
      {{"query", index, "--query", "mill", "--gpu-options", "cache=all"}, "cache: 'all' is not one of lfu"},
      {{"intersect", index, "--query", "mill", "--method", "nope"}, "hash-segments, batched, serial, galloping"},
      {{"index", corpus, "-o", "x", "--forward=maybe"}, "--forward: 'maybe' is not one of true, false"},
      {{"query", index, "--query", "mill", "-k", "0"}, "-k"},
      {{"query", index, "--query", "mill", "-k", "-1"}, "-k"},
      {{"query", index, "--query", "mill", "-k", "many"}, "-k: 'many' is not a number"},
      {{"query", index, "--query", "mill", "-a", "guess"}, "and"},
      {{"query", index, "--query", "mill", "--output-format", "xml"}, "trec"},
      {{"query", index, "--query", "mill", "--queries-format", "sql"}, "auto"},
      {{"query", index, "--query", "mill", "--idf", "none"}, "lucene"},
      {{"query", "--query", "mill"}, "INDEX"},
      {{"eval", corpus, corpus, "--measures", "map", "ndcg@10"},
       "no file 'ndcg@10' for FILE; separate the values of --measures by commas: "
       "--measures map,ndcg@10"},
      {{"eval", "--measures", "map", "ndcg@10", corpus, corpus}, "commas: --measures map,ndcg@10"},
      {{"tune", index, "-q", corpus, "--qrels", corpus, "--k1=0.4", "0.8"}, "commas: --k1 0.4,0.8"},
      {{"query", index, "--query", "mill", "--fields", "title", "url"}, "commas: --fields title,url"},
      {{"bench", "codec", index, "--codec", "rice", "rpfd"},
       "unexpected argument 'rpfd'; separate the values of --codec by commas: --codec rice,rpfd"},
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
    CHECK(contains(outcome.err, wrong.message));
    CHECK(contains(outcome.err, "--help"));
  }
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "index"});
}

}  // namespace quern
