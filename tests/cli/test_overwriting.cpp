#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// No command overwrites a file that it reads, or an output with another one.
namespace quern {

using namespace testing;

TEST_CASE("Output that would overwrite input, or another output, is wrong usage", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), queries = folder.write("queries", "1:mill\n"),
                    collection = folder.path("collection"), index = folder.path("index"), run = folder.path("run"),
                    link = folder.path("link"), dangling = folder.path("dangling");
  REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0);
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  std::filesystem::create_symlink(queries, link);
  std::filesystem::create_symlink(run, dangling);
  const std::string member = index + "/index.quern";
  std::filesystem::create_symlink(member, folder.path("ds2i.docs"));
  const auto contents = [&] {
    return read_file(corpus) + read_file(queries) + read_file(collection) + read_file(member);
  };
  const std::string before = contents();
  for (const CommandLine& arguments :
       {CommandLine{"parse", corpus, "-o", corpus}, CommandLine{"order", collection, "-o", collection},
        CommandLine{"build", collection, "-o", collection}, CommandLine{"index", corpus, "-o", corpus},
        CommandLine{"query", index, "-q", queries, "-o", queries},
        CommandLine{"query", index, "-q", queries, "-o", link}, CommandLine{"query", index, "-q", link, "-o", queries},
        CommandLine{"query", index, "-q", queries, "-o", member},
        CommandLine{"query", index, "-q", queries, "-o", run, "--stats", run},
        CommandLine{"query", index, "-q", queries, "-o", run, "--stats", folder.path("./run")},
        CommandLine{"query", index, "-q", queries, "-o", dangling, "--stats", run},
        CommandLine{"intersect", index, "-q", queries, "-o", queries},
        CommandLine{"query", index, "-q", queries, "-o", queries + "/"},
        CommandLine{"export", index, "--to", "ciff", "-o", member},
        CommandLine{"export", index, "--to", "ds2i", "-o", folder.path("ds2i")},
        CommandLine{"synth", "--df", index, "--docs", "10", "-o", run, "--links", run + "/index.quern"},
        CommandLine{"synth", "--df", index, "-o", index}}) {
    CommandLine forced = arguments;
    forced.push_back("--force");
    const RunOutcome outcome = run_quern(forced);
    INFO(arguments.front() << " " << arguments.back() << "\n" << outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "choose another name"));
    REQUIRE(contents() == before);
  }
  // A word that happens to equal the output's name is not a file.
  CHECK(run_quern({"query", index, "--query", "mill", "-o", folder.path("mill")}).exit_status == 0);
}

TEST_CASE("No command overwrites a file that it reads, however it is named", "[cli][output][reports]") {
  const TemporaryFolder folder;
  const std::string a = folder.path("a"), b = folder.path("b"), ab = folder.path("ab"), index = folder.path("index"),
                    run = folder.write("run", "q Q0 a 1 2 t\nq Q0 b 2 1 t\n"), topics = folder.write("t", "q\twater\n"),
                    ones = folder.write("w.npy", std::string("\x93NUMPY\x01\x00", 8)),
                    config = folder.write("config", "stopwords = " + folder.write("stop", "the\n") + "\n"),
                    list = folder.write("list", "a\n"), docs = folder.write("ds2i.docs", "x"),
                    ranker = folder.write("ranker",
                                          "[ranker]\nversion = 1\n[inputs]\nlinear = body.bm25 1 0\n"
                                          "[layer.1]\nweights = 1\n"),
                    beside = folder.write("beside",
                                          "[ranker]\nversion = 1\n[inputs]\nlinear = body.bm25 1 0\n"
                                          "[layer.1]\nweights = w.npy\n");
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl);
  REQUIRE(run_quern({"parse", corpus, "-o", a}).exit_status == 0);
  REQUIRE(
      run_quern({"parse", folder.write("b.jsonl", "{\"id\":\"z\",\"contents\":\"mill\"}\n"), "-o", b}).exit_status ==
      0);
  REQUIRE(run_quern({"statistics", a, b, "-o", ab}).exit_status == 0);
  REQUIRE(run_quern({"index", corpus, "--forward", "-o", index}).exit_status == 0);
  for (const CommandLine& arguments :
       {CommandLine{"merge-runs", run, "-k", "3", "-o", run}, CommandLine{"statistics", ab, b, "-o", ab},
        CommandLine{"statistics", a, b, "-o", b}, CommandLine{"statistics", "--scales", ab, a, b, "-o", ab},
        CommandLine{"rerank", index, "--run", run, "-q", topics, "--ranker", ranker, "-o", ranker},
        CommandLine{"rerank", index, "--run", run, "-q", topics, "--ranker", ranker, "-o", folder.path("o"), "--stats",
                    ranker},
        CommandLine{"rerank", index, "--run", run, "-q", topics, "--ranker", beside, "-o", ones},
        CommandLine{"query", index, "-q", topics, "--ranker", ranker, "-o", ranker},
        CommandLine{"query", index, "-q", topics, "--ranker", beside, "-o", ones},
        CommandLine{"query", index, "-q", topics, "--filter", "@" + list, "-o", folder.path("o"), "--stats", list},
        CommandLine{"index", corpus, "--config", config, "-o", folder.path("stop")},
        CommandLine{"import", folder.path("ds2i"), "--from", "ds2i", "-o", docs},
        CommandLine{"bench", "cost", run, "-o", run}, CommandLine{"bench", "cost", run, "--test", list, "-o", list}}) {
    std::map<std::string, std::string> before;
    for (const std::string& name : {a, b, ab, run, ranker, ones, list, docs, folder.path("stop")})
      before[name] = read_file(name);
    CommandLine forced = arguments;
    forced.push_back("--force");
    const RunOutcome outcome = run_quern(forced);
    INFO(arguments.front() << " " << arguments[arguments.size() - 2] << " " << arguments.back() << "\n" << outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "would overwrite"));
    for (const auto& [name, bytes] : before) REQUIRE(read_file(name) == bytes);
  }
}

namespace {

/// The options and arguments of all commands that take a value, by "COMMAND -o" and "COMMAND @argument": their names,
/// the long one last, and "@file", choices or nothing.
std::map<std::string, std::pair<CommandLine, std::string>> all_values() {
  std::map<std::string, std::pair<CommandLine, std::string>> values;
  for (const std::string& line : lines_of(run_quern({"completion", "bash"}).out)) {
    CommandLine quoted;
    for (std::size_t at = line.find('"'); at != line.npos; at = line.find('"', at + 1)) {
      const std::size_t end = line.find('"', at + 1);
      if (end == line.npos) break;
      quoted.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
    if (quoted.size() < 2 || !contains(line, ") echo ")) continue;
    CommandLine names;
    for (std::size_t i = 0; i + 1 < quoted.size(); ++i) names.push_back(quoted[i].substr(quoted[i].rfind(' ') + 1));
    for (std::size_t i = 0; i + 1 < quoted.size(); ++i)
      if (contains(quoted[i], " -") || contains(quoted[i], " @")) values[quoted[i]] = {names, quoted.back()};
  }
  return values;
}

/// A file whose use by commands is observed.
class Probe {
 public:
  explicit Probe(const TemporaryFolder& folder) : path(folder.path("probe")), folder_(folder) {}

  struct Use {
    bool is_opened, is_changed;
    RunOutcome outcome;
  };
  Use use_of(const CommandLine& words, const Surroundings& surroundings = {}) const {
    folder_.write("probe", "probe\n");
    const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    REQUIRE(::inotify_add_watch(watch, path.c_str(), IN_OPEN) >= 0);
    RunOutcome outcome = run_quern(words, surroundings);
    char events[4096];
    const bool is_opened = ::read(watch, events, sizeof events) > 0;
    ::close(watch);
    std::filesystem::remove_all(folder_.path("out"));
    return {is_opened, read_file(path) != "probe\n", std::move(outcome)};
  }

  const std::string path;

 private:
  const TemporaryFolder& folder_;
};

/// Walks through the options and arguments of a command line.
class OptionWalk {
 public:
  explicit OptionWalk(const TemporaryFolder& folder) : probe_(folder) {}

  /// `words`: a right command line, with an output named "out", if any.
  void walk(const CommandLine& words) {
    const bool is_group = words[0] == "bench" || words[0] == "simulate";
    command_ = words[0] + (is_group ? " " + words[1] : "");
    {
      INFO(command_);
      CHECK(probe_.use_of(words).outcome.exit_status != 2);
    }
    for (const auto& [key, value] : values_) {
      const bool is_file = value.second == "@file";
      if (!key.starts_with(command_ + " -") || !(is_file || value.second.empty())) continue;
      const bool takes_text = check(with(words, value.first, probe_.path), value.first.back(), is_file);
      if (takes_text && !is_file) check(with(words, value.first, "@" + probe_.path), value.first.back(), true);
    }
    for (std::size_t i = is_group ? 2 : 1; i < words.size(); ++i) {
      if (words[i].starts_with("-") || values_.contains(command_ + " " + words[i - 1])) continue;
      CommandLine changed = words;
      changed[i] = probe_.path;
      const auto argument = values_.find(command_ + " @argument");
      check(changed, "@argument", argument != values_.end() && argument->second.second == "@file");
    }
  }

 private:
  /// The command line with an option's value.
  static CommandLine with(CommandLine words, const CommandLine& names, const std::string& value) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (std::find(names.begin(), names.end(), words[i]) == names.end()) continue;
      words[i + 1] = value;
      return words;
    }
    words.insert(words.end(), {names.back(), value});
    return words;
  }

  /// Returns false if the value is wrong usage, such as a name in place of a number.
  bool check(const CommandLine& words, const std::string& option, bool is_declared) {
    const Probe::Use use = probe_.use_of(words);
    INFO("quern " << command_ << " " << option << ": " << use.outcome.err);
    if (use.is_changed) {
      Surroundings to_probe;
      to_probe.output_path = probe_.path;
      CHECK(contains(probe_.use_of(words, to_probe).outcome.err, "is also standard output"));
    } else if (use.is_opened) {
      CHECK(is_declared);
      if (!values_.contains(command_ + " -o")) return true;
      CommandLine overwriting = with(words, {"-o", "--output"}, probe_.path);
      overwriting.push_back("--force");
      const Probe::Use refused = probe_.use_of(overwriting);
      INFO(refused.outcome.err);
      CHECK(refused.outcome.exit_status == 2);
      CHECK(contains(refused.outcome.err, "would overwrite "));
      CHECK(!contains(refused.outcome.err, "would overwrite " + probe_.path));  // declared: the option is named
      CHECK(!refused.is_changed);
    }
    return use.outcome.exit_status != 2;
  }

  const std::map<std::string, std::pair<CommandLine, std::string>> values_ = all_values();
  Probe probe_;
  std::string command_;
};

}  // namespace

TEST_CASE("Every option of every command that opens a file is declared to", "[cli][output][reports]") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return folder.path(name); };
  const std::string corpus = folder.write("c.jsonl", small_jsonl), queries = folder.write("q", "q\twater mill\n"),
                    run = folder.write("run", "q Q0 a 1 2 t\n"), qrels = folder.write("qrels", "q 0 a 1\n"),
                    points = folder.write("points", "t,1,1\n"), out = at("out"),
                    ranker = folder.write("ranker",
                                          "[ranker]\nversion = 1\n[inputs]\nlinear = body.bm25 1 0\n"
                                          "[layer.1]\nweights = 1\n");
  const CommandLine build = {"build",      at("c"),      "--order", at("order"), "--statistics", at("s"), "--scales",
                             at("scales"), "--quantize", "8",       "--shard",   "1/1",          "-o"};
  const auto ending_in = [](CommandLine words, const std::string& last) {
    words.push_back(last);
    return words;
  };
  for (const CommandLine& words :
       {CommandLine{"index", corpus, "--forward", "-o", at("i")}, CommandLine{"parse", corpus, "-o", at("c")},
        CommandLine{"order", at("c"), "--shards", "1", "-o", at("order")},
        CommandLine{"statistics", at("c"), "-o", at("s")},
        CommandLine{"statistics", "--scales", at("s"), at("c"), "-o", at("scales")}, ending_in(build, at("shard")),
        CommandLine{"export", at("i"), "--to", "ciff", "-o", at("ciff")},
        CommandLine{"plan", at("i"), "-q", queries, "--budget", "1M", "-o", at("plan")},
        CommandLine{"bench", "query", at("i"), "-q", queries, "--repeats", "1", "--times", at("times")}})
    REQUIRE(run_quern(words).exit_status == 0);
  OptionWalk options(folder);
  for (const CommandLine& words :
       {CommandLine{"index", corpus, "-o", out},
        CommandLine{"index", "--files-from", folder.write("list", corpus), "-o", out},
        CommandLine{"query", at("i"), "-q", queries, "--ranker", ranker, "-o", out},
        CommandLine{"query", at("i"), "--query", "mill"},
        CommandLine{"features", at("i"), "-q", queries, "--run", run, "--qrels", qrels, "-o", out},
        CommandLine{"rerank", at("i"), "-q", queries, "--run", run, "--ranker", ranker, "-o", out},
        CommandLine{"eval", run, qrels},
        CommandLine{"intersect", at("i"), "-q", queries, "-o", out},
        CommandLine{"intersect", at("i"), "--query", "mill"},
        CommandLine{"parse", corpus, "-o", out},
        CommandLine{"order", at("c"), "-o", out},
        ending_in(build, out),
        CommandLine{"statistics", at("c"), "-o", out},
        CommandLine{"statistics", "--scales", at("s"), at("c"), "-o", out},
        CommandLine{"merge", at("shard"), "-o", out},
        CommandLine{"merge-runs", run, "-k", "3", "-q", queries, "-o", out},
        CommandLine{"cut", at("i"), "--shard", "1/1", "-o", out},
        CommandLine{"ranges", corpus, "-n", "2"},
        CommandLine{"inspect", at("i"), "mill"},
        CommandLine{"inspect", at("i"), "--tokens", "a"},
        CommandLine{"verify", at("i")},
        CommandLine{"analyze", "mill"},
        CommandLine{"import", at("ciff"), "-o", out},
        CommandLine{"export", at("i"), "--to", "ciff", "-o", out},
        CommandLine{"plan", at("i"), "-q", queries, "--budget", "1M", "-o", out},
        CommandLine{"simulate", "cache", at("i"), "-q", queries, "--plan", at("plan")},
        CommandLine{"simulate", "cache", at("i"), "-q", queries, "--train", queries},
        CommandLine{"simulate", "throughput", points, "--memory", "1G"},
        CommandLine{"simulate", "schedule", at("times")},
        CommandLine{"synth", "--df", at("i"), "--docs", "10", "-q", queries, "-o", out},
        CommandLine{"bench", "codec", at("i")},
        CommandLine{"bench", "query", at("i"), "--query", "mill"},
        CommandLine{"bench", "cost", at("times"), "--test", at("times"), "-o", out},
        CommandLine{"bench", "stream", at("i"), "-q", queries, "--seconds", "0.1"},
        CommandLine{"bench", "intersect", at("i"), "-q", queries},
        CommandLine{"bench", "lists", at("i")},
        CommandLine{"bench", "order", at("c")},
        CommandLine{"bench", "pagerank", at("c")},
        CommandLine{"bench", "rerank", "--trees", "1", "--docs", "1", "--repeats", "1"},
        CommandLine{"bench", "gpu", at("i"), "-q", queries},
        CommandLine{"bench", "gpu-cache", at("i"), "-q", queries, "--train", queries},
        CommandLine{"bench", "gpu-decode", at("i")},
        CommandLine{"bench", "gpu-intersect", at("i"), "-q", queries},
        CommandLine{"completion", "bash"},
        CommandLine{"help", "index"}}) {
    options.walk(words);
  }
}

TEST_CASE("Output to a file that is also standard input or output is wrong usage", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index"),
                    queries = folder.write("queries", "1:mill\n"), run = folder.write("run", "before\n");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  const auto in_shell = [](const std::string& arguments) {
    return WEXITSTATUS(std::system((std::string(QUERN_EXECUTABLE) + " " + arguments).c_str()));
  };
  const std::string quiet = " --force --quiet 2>/dev/null ";
  CHECK(in_shell("query " + index + " -q - -o " + queries + quiet + "<" + queries) == 2);
  CHECK(in_shell("parse - -o " + corpus + quiet + "<" + corpus) == 2);
  CHECK(in_shell("query " + index + " --query mill -o /dev/stdout" + quiet + ">>" + run) == 2);
  CHECK(read_file(queries) == "1:mill\n");
  CHECK(read_file(corpus) == small_jsonl);
  CHECK(read_file(run) == "before\n");
}

}  // namespace quern
