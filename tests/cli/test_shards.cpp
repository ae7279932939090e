#include <filesystem>
#include <tuple>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "sanitized.hpp"

/// Splits of a corpus that become shards of an index, with commands only.
namespace quern {
namespace {

using namespace testing;

CommandLine operator+(CommandLine words, const CommandLine& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The sample corpus as one index and in shards.
class Shards {
 public:
  Shards(std::size_t splits, std::size_t shards, const CommandLine& order, const CommandLine& build)
      : count_(shards), build_(build) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(sample_folder + "/corpus"))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (std::size_t i = 0; i < splits; ++i) {
      CommandLine parse = {"parse"};
      for (std::size_t file = files.size() * i / splits; file < files.size() * (i + 1) / splits; ++file)
        parse.push_back(files[file]);
      collections.push_back(path("collection" + std::to_string(i)));
      must_run(parse + CommandLine{"--store-text", "-o", collections.back(), "--max-errors", "0"});
    }
    must_run(CommandLine{"parse"} + files + CommandLine{"--store-text", "-o", path("all")});
    must_run(CommandLine{"statistics"} + collections + CommandLine{"-o", path("statistics")});
    must_run(CommandLine{"statistics", "--scales", path("statistics")} + collections +
             CommandLine{"-o", path("scales")});
    must_run(CommandLine{"order"} + collections + order +
             CommandLine{"--shards", std::to_string(shards), "-o", path("order")});
    must_run(CommandLine{"order", path("all")} + order + CommandLine{"-o", path("order-of-all")});
    must_run(CommandLine{"build", path("all"), "--order", path("order-of-all"), "--store-text", "--forward", "-o",
                         path("whole")} +
             build);
    for (std::size_t i = 1; i <= shards; ++i) must_run(build_shard(i, path(std::to_string(i))));
  }

  CommandLine build_shard(std::size_t number, const std::string& output) const {
    CommandLine words = CommandLine{"build"} + collections + build_ +
                        CommandLine{"--order",      path("order"),
                                    "--shard",      std::to_string(number) + "/" + std::to_string(count_),
                                    "--statistics", path("statistics"),
                                    "--store-text", "--forward",
                                    "-o",           output};
    if (std::find(build_.begin(), build_.end(), "--quantize") != build_.end())
      words = words + CommandLine{"--scales", path("scales")};
    return words;
  }
  CommandLine shards() const {
    CommandLine paths;
    for (std::size_t i = count_; i > 0; --i) paths.push_back(path(std::to_string(i)));
    return paths;
  }
  std::string path(const std::string& name) const { return folder.path(name); }
  static void must_run(const CommandLine& words) {
    const RunOutcome outcome = run_quern(words + CommandLine{"--quiet"});
    INFO(words.front() << ": " << outcome.err);
    REQUIRE(outcome.exit_status == 0);
  }

  TemporaryFolder folder;
  CommandLine collections;

 private:
  std::size_t count_;
  CommandLine build_;
};

/// The value of -k, or its default.
std::string k_of(const CommandLine& way) {
  const auto k = std::find(way.begin(), way.end(), "-k");
  return k == way.end() ? "10" : *(k + 1);
}

const std::string topics = sample_folder + "/topics.txt", ranker = sample_folder + "/ranker.txt";

/// The second stage writes the same bytes over shards as over the whole index.
void check_second_stage(const TemporaryFolder& folder, const std::string& whole, const CommandLine& shards) {
  const std::string first = folder.path("first-stage-run");
  Shards::must_run({"query", whole, "-q", topics, "-k", "60", "-o", first, "--force"});
  const CommandLine run = {"-q", topics, "--run", first, "--quiet"};
  const CommandLine qrels = {"--qrels", sample_folder + "/qrels.txt"};
  for (const CommandLine& way :
       {CommandLine{"features"} + qrels, CommandLine{"features", "--json", "--features", "body.*,document.*"},
        CommandLine{"rerank", "--ranker", ranker}, CommandLine{"rerank", "--ranker", ranker, "-k", "7", "-j", "1"}}) {
    INFO(way.front() << " " << way.back());
    const std::string expected = run_quern(way + run + CommandLine{whole}).out;
    CHECK(lines_of(expected).size() > 50);
    CHECK(run_quern(way + run + shards).out == expected);
  }
}

/// Benchmarks take three shards as one index, whose answers they compare with those of the whole.
void check_benchmarks(const std::string& whole, const CommandLine& shards) {
  const auto json = run_quern(CommandLine{"bench", "query", whole} + shards +
                              CommandLine{"-q", topics, "-a", "or,and-or", "-k", "10,100", "--repeats", "1", "--json"})
                        .json();
  REQUIRE(json["indexes"].size() == 2);
  CHECK(json["indexes"][1]["shards"] == 3);
  for (const char* same : {"documents", "postings", "order", "codec"})
    CHECK(json["indexes"][1][same] == json["indexes"][0][same]);
  REQUIRE(json["results"].size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(json["results"][i]["index"] == json["indexes"][i / 4]["index"]);
  CHECK(
      contains(run_quern({"bench", "query", shards[0], shards[1], "--query", "mill"}).err, "shard 2 of 3 is missing"));
  const CommandLine stream = CommandLine{"bench", "stream"} + shards + CommandLine{"-q", topics, "--json"};
  const auto singly = run_quern(stream + CommandLine{"--one-by-one"}).json();
  CHECK(singly["index"]["documents"] == json["indexes"][0]["documents"]);
  CHECK(singly["one_by_one"][0]["mean_us"] > 0);
  const auto at_rate = run_quern(stream + CommandLine{"--rate", "500", "--seconds", "0.2"}).json();
  CHECK(at_rate["streams"][0]["measured"]["queries"] == 100);
}

}  // namespace

TEST_CASE("shards answer as the whole index and merge to its bytes", "[cli][shards]") {
  const std::vector<std::pair<CommandLine, CommandLine>> set_ups = {
      {{"--by", "url"}, {}},
      {{"--by", "score"}, {"--quantize", "8", "--codec", "rice"}},
      {{"--by", "random", "--seed", "3"}, {"--block-size", "64"}}};
  std::size_t shards = 2;
  for (const auto& [order, build] : set_ups) {
    INFO("order " << order[1] << ", " << shards << " shards");
    if (sanitized && order[1] != "score") continue;
    const Shards made(3, shards, order, build);
    Shards::must_run(CommandLine{"merge"} + made.shards() + CommandLine{"-o", made.path("merged")});
    for (const char* member : {"/index.quern", "/texts.quern", "/forward.quern"})
      CHECK(read_file(made.path("merged") + member) == read_file(made.path("whole") + member));
    Shards::must_run(CommandLine{"verify"} + made.shards());
    std::vector<CommandLine> ways = {{"-a", "or"},
                                     {"-a", "and"},
                                     {"-a", "bmw", "-k", "1000"},
                                     {"-a", "and-or", "-k", "20"},
                                     {"--filter", "docno!=MILL-0001"},
                                     {"--ranker", ranker, "--rerank", "20"},
                                     {"--fields", "url,text,title", "--output-format", "json"},
                                     {"--output-format", "json"}};
    if (order[1] == "score") {
      ways.push_back({"--scorer", "bm25+pagerank", "-k", "30"});
      ways.push_back({"--scorer", "bm25+pagerank", "-a", "and"});
      ways.push_back({"--scores", "quantized"});
    }
    for (const CommandLine& way : ways) {
      INFO(way.front() << " " << way.back());
      const CommandLine queries = CommandLine{"-q", topics, "--quiet"} + way;
      const std::string whole = run_quern(CommandLine{"query", made.path("whole")} + queries).out;
      CHECK(!whole.empty());
      CHECK(run_quern(CommandLine{"query"} + made.shards() + queries).out == whole);
      // Arguments that a single shard refuses (and-or, a second stage), or that merge-runs does not read.
      if (way.back() == "20" || way.back() == "json") continue;
      CommandLine runs;
      for (std::size_t i = 1; i <= shards; ++i) {
        runs.push_back(made.path("run" + std::to_string(i)));
        Shards::must_run(
            CommandLine{"query", made.path(std::to_string(i)), "-q", topics, "-o", runs.back(), "--force"} + way);
      }
      CHECK(run_quern(CommandLine{"merge-runs"} + runs + CommandLine{"-q", topics, "-k", k_of(way), "--quiet"}).out ==
            whole);
    }
    check_second_stage(made.folder, made.path("whole"), made.shards());
    const std::string arriving =
        made.folder.write("arriving", "water mill\nstones\nthe old wheel\nunknownword\nmill\n");
    const CommandLine stream = {"-q",      arriving, "--queries-format", "lines", "--batch-wait", "1",
                                "--batch", "2",      "--quiet"};
    CHECK(run_quern(CommandLine{"query"} + made.shards() + stream).out ==
          run_quern(CommandLine{"query", made.path("whole")} + stream).out);
    CHECK(lines_of(run_quern(CommandLine{"query"} + made.shards() + stream).out).size() > 20);
    shards += 3;
  }
}

TEST_CASE("an index is cut into shards that answer as it does and merge to its bytes", "[cli][shards]") {
  const TemporaryFolder folder;
  const CommandLine corpus = {"index",      sample_folder + "/corpus",
                              "-o",         folder.path("whole"),
                              "--order",    "score",
                              "--quantize", "8",
                              "--forward",  "--store-text"};
  Shards::must_run(corpus);
  CommandLine shards;
  for (const char* number : {"3", "1", "2"}) {
    shards.push_back(folder.path(number));
    Shards::must_run({"cut", folder.path("whole"), "--shard", number + std::string("/3"), "-o", shards.back()});
  }
  Shards::must_run(CommandLine{"verify"} + shards);
  Shards::must_run(CommandLine{"merge"} + shards + CommandLine{"-o", folder.path("merged")});
  for (const char* member : {"/index.quern", "/texts.quern", "/forward.quern"})
    CHECK(read_file(folder.path("merged") + member) == read_file(folder.path("whole") + member));
  for (const CommandLine& way :
       {CommandLine{"-a", "or"}, CommandLine{"--scores", "quantized"}, CommandLine{"--ranker", ranker, "-k", "40"},
        CommandLine{"--scorer", "bm25+pagerank", "-k", "100"}}) {
    const CommandLine queries = CommandLine{"-q", topics, "--quiet"} + way;
    CHECK(run_quern(CommandLine{"query"} + shards + queries).out ==
          run_quern(CommandLine{"query", folder.path("whole")} + queries).out);
  }
  check_second_stage(folder, folder.path("whole"), shards);
  check_benchmarks(folder.path("whole"), shards);
  CHECK(contains(run_quern({"cut", folder.path("1"), "--shard", "1/2", "-o", folder.path("again")}).err,
                 "is already a shard"));
}

TEST_CASE("a list of docnos is read once for all shards", "[cli][shards]") {
  const Shards made(2, 2, {"--by", "random"}, {});
  const CommandLine query = {"--query", "mill water stone", "--filter", "@-", "-k", "50", "-a", "or"};
  std::string list = "nowhere\n";
  for (const std::string& line : lines_of(run_quern({"query", made.path("whole"), "-q", topics}).out))
    list += line.substr(line.find("Q0 ") + 3, line.find(' ', line.find("Q0 ") + 3) - line.find("Q0 ") - 3) + "\n";
  Surroundings from_list;
  from_list.input = list;
  const RunOutcome whole = run_quern(CommandLine{"query", made.path("whole")} + query, from_list),
                   found = run_quern(CommandLine{"query"} + made.shards() + query, from_list);
  CHECK(lines_of(whole.out).size() > 5);
  CHECK(found.out == whole.out);
  CHECK(contains(whole.err, ": 1 of its "));
  CHECK(found.err == whole.err);
}

TEST_CASE("each shard has a plan of its own", "[cli][shards]") {
  const Shards made(2, 2, {"--by", "url"}, {});
  for (const char* name : {"1", "2", "whole"})
    Shards::must_run({"plan", made.path(name), "-q", sample_folder + "/query_log.txt", "--budget", "20%", "-o",
                      made.path(name) + std::string(".plan")});
  const std::string first = made.path("1.plan"), second = made.path("2.plan");
  const CommandLine query = CommandLine{"query"} + made.shards() + CommandLine{"-q", topics};
  const RunOutcome with = run_quern(query + CommandLine{"--plan", second, "--plan", first});
  CHECK(with.exit_status == 0);
  CHECK(with.out == run_quern(query).out);
  CHECK(contains(with.err, first + ": the plan fits this index but is not used"));
  CHECK(contains(with.err, second + ": the plan fits this index but is not used"));
  const auto error_of = [&](const CommandLine& plans) {
    const RunOutcome outcome = run_quern(query + plans);
    CHECK(outcome.exit_status == 1);
    return outcome.err;
  };
  CHECK(contains(error_of({"--plan", first}), made.path("2") + "/index.quern: no plan is for this shard"));
  CHECK(contains(error_of({"--plan", first, "--plan", second, "--plan", first}), first + ": is a plan for"));
  CHECK(contains(error_of({"--plan", first, "--plan", made.path("whole.plan")}), "is a plan for another index"));
}

TEST_CASE("bench stream sends queries to GPUs over shards, each with its plan", "[gpu][cli][shards]") {
  SKIP_WITHOUT_GPU();
  const Shards made(2, 2, {"--by", "url"}, {});
  CommandLine plans;
  for (const char* name : {"1", "2"}) {
    plans = plans + CommandLine{"--plan", made.path(name) + std::string(".plan")};
    Shards::must_run(
        {"plan", made.path(name), "-q", sample_folder + "/query_log.txt", "--budget", "20%", "-o", plans.back()});
  }
  const CommandLine stream = CommandLine{"bench", "stream"} + made.shards() + plans +
                             CommandLine{"-q", topics, "--device", "gpu,both", "--gpu-memory", "64M", "--json"};
  for (const CommandLine& way : {CommandLine{"--one-by-one"}, CommandLine{"--rate", "500", "--seconds", "0.2"}}) {
    const RunOutcome outcome = run_quern(stream + way);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    const auto json = outcome.json();
    CHECK(json["streams"].size() + json["one_by_one"].size() == 2);
    for (const auto& row : json["streams"]) CHECK(row["failures"].empty());
  }
}

TEST_CASE("a step of shards that is done again writes the same bytes", "[cli][shards]") {
  const Shards made(2, 2, {"--by", "url"}, {});
  Shards::must_run(made.build_shard(1, made.path("again")));
  CHECK(read_file(made.path("again/index.quern")) == read_file(made.path("1/index.quern")));
  Shards::must_run(CommandLine{"statistics", made.collections[1], made.collections[0], "-o", made.path("statistics2")});
  CHECK(read_file(made.path("statistics2")) == read_file(made.path("statistics")));
}

TEST_CASE("errors of commands over shards name the cause", "[cli][shards]") {
  const Shards made(2, 2, {"--by", "url"}, {});
  const auto error_of = [](const CommandLine& words) {
    const RunOutcome outcome = run_quern(words);
    CHECK(outcome.exit_status != 0);
    return outcome.err;
  };
  CHECK(contains(error_of({"query", made.path("1"), made.path("1"), "--query", "mill"}), "is shard 1 of 2, as is"));
  CHECK(contains(error_of({"query", made.path("1"), made.path("whole"), "--query", "mill"}), "is not a shard"));
  CHECK(contains(error_of({"query", made.path("1"), "--query", "mill", "-a", "and-or"}), "name all shards"));
  for (const char* command : {"features", "rerank"}) {
    CommandLine words = {command, made.path("1"), "-q", topics, "--run", made.folder.write("empty-run", "")};
    if (command == std::string("rerank")) words = words + CommandLine{"--ranker", ranker};
    CHECK(contains(error_of(words), "shard 1 of 2 alone"));
  }
  CHECK(contains(error_of(CommandLine{"query"} + made.shards() +
                          CommandLine{"--query", "mill", "--fields", "lang", "--output-format", "json"}),
                 "no field 'lang'"));
  CHECK(contains(error_of({"query", made.path("1"), "--query", "mill", "--ranker", ranker}), "shard 1 of 2 alone"));
  std::filesystem::remove(made.path("2/forward.quern"));
  CHECK(
      contains(error_of(CommandLine{"merge"} + made.shards() + CommandLine{"-o", made.path("m")}), "no forward file"));
  CHECK(contains(error_of({"merge", made.path("2"), "-o", made.path("m")}), "not a full set of shards"));
  CHECK(contains(error_of({"merge", made.path("whole"), "-o", made.path("m")}), "not a full set of shards"));
  const CommandLine build = {"build", made.collections[0], made.collections[1], "--order", made.path("order"),
                             "-o",    made.path("b")};
  CHECK(contains(error_of(build + CommandLine{"--shard", "1/3", "--statistics", made.path("statistics")}),
                 "quern order --shards 3"));
  CHECK(contains(error_of(build + CommandLine{"--shard", "3/2", "--statistics", made.path("statistics")}), "3/2"));
  CHECK(contains(error_of(build + CommandLine{"--shard", "1/2"}), "--statistics"));
  Shards::must_run({"statistics", made.collections[0], "-o", made.path("of-one")});
  CHECK(contains(error_of(build + CommandLine{"--shard", "1/2", "--statistics", made.path("of-one")}),
                 "was made from different collections"));
  CHECK(contains(error_of({"build", made.collections[1], made.collections[0], "--order", made.path("order"), "-o",
                           made.path("b")}),
                 "is an order of another collection"));
  // A split counts as often as it is named, which the collections must agree with.
  Shards::must_run(
      {"statistics", made.collections[0], made.collections[1], made.path("of-one"), "-o", made.path("of-three")});
  CHECK(contains(error_of(build + CommandLine{"--shard", "1/2", "--statistics", made.path("of-three")}),
                 "1 of its 3 splits were not given"));
  CHECK(contains(error_of({"statistics", made.collections[0], made.path("order"), "-o", made.path("s")}),
                 "name collections and statistics files"));
  const std::string run = made.path("run");
  Shards::must_run({"query", made.path("1"), "-q", topics, "-o", run});
  CHECK(contains(error_of({"merge-runs", run, run, "-k", "10"}), "is the same run as"));
  CHECK(
      contains(error_of({"merge-runs", run, made.folder.write("bad", "1 Q0 a 1 1.5 t\n1 Q0 b 2 2.5 t\n"), "-k", "10"}),
               "line 2: scores increase"));
  CHECK(contains(error_of({"merge-runs", run,
                           made.folder.write("torn", "1 Q0 a 1 1.5 t\n2 Q0 b 1 2.5 t\n1 Q0 c 2 1 t\n"), "-k", "10"}),
                 "line 3: query 1 begins a second time: its results are not contiguous"));
}

TEST_CASE("splits hold together what one parse holds", "[cli][shards][reports]") {
  const TemporaryFolder folder;
  const std::string torn = "bad\n";
  const std::string a = folder.write("a.jsonl", "{\"id\":\"D1\",\"contents\":\"x\"}\n" + torn + torn),
                    b = folder.write("b.jsonl", "{\"id\":\"D1\",\"contents\":\"y\"}\n" + torn + torn);
  const std::vector<std::tuple<CommandLine, std::string, std::string>> choices = {
      {{"--duplicates", "refuse"}, "1 document has the docno of another", "more than one document has the docno 'D1'"},
      {{"--max-errors", "3"}, "there are 4, more than --max-errors 3", "there are 4, more than --max-errors 3"},
      {{"--drop-copies"}, "was parsed with --drop-copies", "was parsed with --drop-copies"},
      {{"--max-errors", "4"}, "", ""},
      {{"--skip-bad"}, "", ""}};
  for (const auto& [choice, counted, built] : choices) {
    INFO(choice.front());
    const CommandLine more = choice + CommandLine{"--force"};
    Shards::must_run(CommandLine{"parse", a, "-o", folder.path("a")} + more);
    Shards::must_run(CommandLine{"parse", b, "-o", folder.path("b")} + more);
    const RunOutcome statistics =
        run_quern({"statistics", folder.path("a"), folder.path("b"), "-o", folder.path("s"), "--force"});
    const RunOutcome build =
        run_quern({"build", folder.path("a"), folder.path("b"), "-o", folder.path("i"), "--force"});
    INFO(statistics.err << build.err);
    CHECK(statistics.exit_status == (counted.empty() ? 0 : 1));
    CHECK(contains(statistics.err, counted));
    CHECK(build.exit_status == (built.empty() ? 0 : 1));
    CHECK(contains(build.err, built));
  }
}

TEST_CASE("splits and shards may have no document", "[cli][shards][reports]") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("t.jsonl", "{\"id\":\"A\",\"contents\":\"mill\"}\n{\"id\":\"B\",\"contents\":\"y");
  const std::string whole = folder.path("whole"), order = folder.path("order"), statistics = folder.path("statistics");
  Shards::must_run({"index", file, "--order", "natural", "--forward", "--store-text", "-o", whole});
  CommandLine collections;
  for (const std::string& range : lines_of(run_quern({"ranges", file, "-n", "2"}).out)) {
    collections.push_back(folder.path(range));
    Shards::must_run({"parse", file, "--range", range, "--store-text", "-o", collections.back()});
    Shards::must_run({"verify", collections.back()});
  }
  REQUIRE(collections.size() == 2);
  Shards::must_run(CommandLine{"statistics"} + collections + CommandLine{"-o", statistics});
  Shards::must_run(CommandLine{"order"} + collections + CommandLine{"--by", "natural", "--shards", "3", "-o", order});
  CommandLine built, cut;
  for (const char* number : {"1", "2", "3"}) {
    built.push_back(folder.path(std::string("built") + number));
    cut.push_back(folder.path(std::string("cut") + number));
    const CommandLine shard = {"--shard", std::string(number) + "/3"};
    Shards::must_run(
        CommandLine{"build"} + collections + shard +
        CommandLine{"--order", order, "--statistics", statistics, "--forward", "--store-text", "-o", built.back()});
    Shards::must_run(CommandLine{"cut", whole, "-o", cut.back()} + shard);
    Shards::must_run({"verify", built.back(), cut.back()});
  }
  for (const CommandLine& shards : {built, cut}) {
    const std::string merged = shards.back() + "-merged";
    Shards::must_run(CommandLine{"merge"} + shards + CommandLine{"-o", merged});
    for (const char* name : {"/index.quern", "/forward.quern", "/texts.quern"})
      CHECK(read_file(merged + name) == read_file(whole + name));
    const CommandLine query = {"--query", "mill", "--quiet"};
    CHECK(run_quern(CommandLine{"query"} + shards + query).out == run_quern(CommandLine{"query", whole} + query).out);
    CHECK(run_quern({"query", shards.back(), "--query", "mill", "--quiet"}).exit_status == 0);
  }
  const RunOutcome empty = run_quern({"build", collections[1], "-o", folder.path("empty")});
  CHECK(empty.exit_status == 1);
  CHECK(contains(empty.err, "nothing to index"));
}

TEST_CASE("statistics name documents that several splits have", "[cli][shards]") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    const std::string corpus =
        folder.write(std::string(name) + ".jsonl", "{\"id\":\"same\",\"text\":\"mill " + std::string(name) + "\"}\n");
    Shards::must_run({"parse", corpus, "-o", folder.path(name)});
  }
  const RunOutcome merged_statistics =
      run_quern({"statistics", folder.path("a"), folder.path("b"), "-o", folder.path("s")});
  CHECK(contains(merged_statistics.err, "1 document has the docno of another, such as 'same'"));
  const RunOutcome refused =
      run_quern({"statistics", folder.path("a"), folder.path("b"), "-o", folder.path("t"), "--duplicates", "refuse"});
  CHECK(refused.exit_status == 1);
  CHECK(!std::filesystem::exists(folder.path("t")));
}

TEST_CASE("ranges of a file become splits with the index of the file", "[cli][shards]") {
  const TemporaryFolder folder;
  const std::string file = sample_folder + "/corpus/mill-00.trecweb";
  CommandLine collections;
  for (const std::string& range : lines_of(run_quern({"ranges", file, "-n", "3"}).out)) {
    collections.push_back(folder.path(range));
    Shards::must_run({"parse", file, "--range", range, "-o", collections.back()});
  }
  CHECK(collections.size() == 3);
  Shards::must_run(CommandLine{"build"} + collections + CommandLine{"-o", folder.path("of-ranges")});
  Shards::must_run({"index", file, "--order", "natural", "-o", folder.path("whole")});
  CHECK(read_file(folder.path("of-ranges/index.quern")) == read_file(folder.path("whole/index.quern")));
  for (const char* wrong : {"7", "9-8", "0-x", "-5", "0-99999999"}) {
    const RunOutcome outcome = run_quern({"parse", file, "--range", wrong, "-o", folder.path("w")});
    INFO(wrong << ": " << outcome.err);
    CHECK(outcome.exit_status != 0);
  }
  CHECK(run_quern({"ranges", file, "-n", "2", "--json"}).json().size() == 2);
}

}  // namespace quern
