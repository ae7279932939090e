#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// `quern tune` against runs of `quern query` that `quern eval` measures, bit for bit.
namespace quern {
namespace {

using namespace testing;
using nlohmann::json;

const std::string judged_topics = sample_folder + "/topics.txt", topic_qrels = sample_folder + "/qrels.txt";

RunOutcome ended_well(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome;
}

/// Indexes to tune on, judged topics, and options of both commands.
struct TuningCase {
  std::shared_ptr<TemporaryFolder> folder = std::make_shared<TemporaryFolder>();
  CommandLine indexes;
  std::string topics, qrels;
  CommandLine scoring = {};

  void make_index(const std::string& corpus, CommandLine options) {
    indexes = {folder->path("index")};
    options.insert(options.begin(), {"index", corpus, "-o", indexes.front(), "--quiet"});
    ended_well(options);
  }
  json tune(CommandLine options) const {
    CommandLine words = {"tune", "-q", topics, "--qrels", qrels, "--json", "--quiet"};
    for (const CommandLine* more : {&indexes, &scoring, static_cast<const CommandLine*>(&options)})
      words.insert(words.end(), more->begin(), more->end());
    return ended_well(words).json();
  }
  /// What `quern eval` says of a run with a point's parameters.
  json measured(const json& point, const CommandLine& measuring, const std::string& k) const {
    const std::string run = folder->path("run");
    CommandLine words = {"query", "-q", topics, "-k", k, "-o", run, "--force", "--quiet"};
    for (const char* parameter : {"k1", "b", "alpha"})
      if (point.contains(parameter))
        words.insert(words.end(), {std::string("--") + parameter, point[parameter].dump()});
    words.insert(words.end(), indexes.begin(), indexes.end());
    words.insert(words.end(), scoring.begin(), scoring.end());
    ended_well(words);
    CommandLine eval = {"eval", run, qrels, "--json", "--quiet", "--per-query"};
    eval.insert(eval.end(), measuring.begin(), measuring.end());
    return ended_well(eval).json();
  }

  /// Requires each point of the grid to have the value of such a run, and the best to be the start if none is better.
  void check(const CommandLine& grid, const std::string& measure, const std::string& k,
             const CommandLine& judging = {}) const {
    INFO(measure << " k " << k);
    CommandLine options = grid, measuring = {"--measures", measure};
    options.insert(options.end(), {"--measure", measure, "-k", k});
    for (CommandLine* both : {&options, &measuring}) both->insert(both->end(), judging.begin(), judging.end());
    const json tuned = tune(options);
    json best = tuned["start"];
    for (const json& point : tuned["points"]) {
      INFO(point.dump());
      const json measures = measured(point, measuring, k)["measures"];
      CHECK(measures[tuned["measure"].get<std::string>()].get<double>() == point["value"].get<double>());
      if (point["value"] > best["value"]) best = point;
    }
    CHECK(tuned["best"] == best);
  }
};

TuningCase sample_case(const CommandLine& options = {}) {
  TuningCase sample;
  sample.topics = judged_topics;
  sample.qrels = topic_qrels;
  sample.make_index(sample_folder + "/corpus", options);
  return sample;
}

/// Short documents of few words, so that many scores are equal; docnos are not in docID order. Some judgements are
/// negative, some of documents and queries that don't exist, and some topics are not judged or unknown.
void draw_corpus(RandomBits& random, TuningCase& drawn, const CommandLine& options) {
  std::string corpus, topic_lines, qrel_lines;
  const std::uint64_t documents = 200 + random.below(400);
  const auto docno = [](std::uint64_t number) { return fmt::format("d{}", number * 7919 % 1000); };
  for (std::uint64_t i = 0; i < documents; ++i) {
    std::string text;
    for (std::uint64_t words = random.below(12); words-- > 0;)
      text += fmt::format("w{} ", std::min(random.below(12), random.below(12)));
    corpus += fmt::format("{{\"id\":\"{}\",\"contents\":\"{}\"}}\n", docno(i), text);
  }
  for (std::uint64_t topic = 0; topic < 12; ++topic) {
    topic_lines += fmt::format("t{}\tw{} w{} w{}\n", topic, random.below(13), random.below(13), random.below(13));
    for (std::uint64_t i = 0; topic != 3 && i < 1 + random.below(30); ++i)
      qrel_lines += fmt::format("t{} 0 {} {}\n", topic, docno(i * 23 + topic), static_cast<int>(random.below(4)) - 1);
  }
  topic_lines += "t99\tnothing\n";
  qrel_lines += "t99 0 d1 1\nt77 0 d2 1\n";
  drawn.topics = drawn.folder->write("topics.tsv", topic_lines);
  drawn.qrels = drawn.folder->write("qrels", qrel_lines);
  drawn.make_index(drawn.folder->write("c.jsonl", corpus), options);
}

/// Runs `quern tune` on a sample index with these options, and returns what it says.
std::string refused(const TuningCase& sample, CommandLine options, int status) {
  options.insert(options.begin(), {"tune", sample.indexes.front(), "--quiet"});
  const RunOutcome outcome = run_quern(options);
  INFO(outcome.err);
  CHECK(outcome.exit_status == status);
  CHECK(outcome.out.empty());
  return outcome.err;
}

}  // namespace

TEST_CASE("tune has the values of query and eval at each point", "[cli][tune]") {
  const TuningCase sample = sample_case();
  sample.check({"--k1", "0.4:2.0:0.8", "--b", "0,0.5,1"}, "map", "1000");
  sample.check({"--k1", "0.9,1.2"}, "nDCG@10", "7", {"--complete"});
  sample.check({"--b", "0.1:0.9:0.4"}, "MRR", "20", {"--relevance-level", "2", "--as", "9"});
  sample.check({"--k1", "0.5,3"}, "P@5", "10", {"--depth", "3"});
  const json usual = sample.tune({});
  CHECK(usual["points"].size() == 25);
  CHECK(usual["points"][24]["k1"].dump() == "2.0");
  CHECK(usual["start"]["k1"] == 1.2);
  CHECK(usual["query_options"] ==
        fmt::format("--k1 {} --b {}", usual["best"]["k1"].get<double>(), usual["best"]["b"].get<double>()));
}

TEST_CASE("tune has these values for ties, unknown terms, and all measures", "[cli][tune][property]") {
  RandomBits random(53);
  for (const char* const measure : {"map", "gm_map", "bpref", "num_ret", "num_rel_ret", "set_P", "infAP", "unj.10",
                                    "iprec_at_recall.0.5", "rbp", "utility", "R@5", "ndcg"}) {
    TuningCase drawn;
    draw_corpus(random, drawn, {"--block-size", "64"});
    const std::string k = std::to_string(std::array<int, 4>{1, 5, 50, 1000}[random.below(4)]);
    drawn.check({"--k1", "0,1.2", "--b", "0,0.75"}, measure, k,
                random.below(2) == 0 ? CommandLine{} : CommandLine{"--complete"});
  }
}

TEST_CASE("tune knows idf, PageRank and shards", "[cli][tune]") {
  TuningCase sample = sample_case({"--pagerank", "links"});
  sample.scoring = {"--idf", "robertson"};
  sample.check({"--k1", "0.6,1.8"}, "map", "1000");
  sample.scoring = {"--scorer", "bm25+pagerank"};
  sample.check({"--alpha", "0:1:0.25", "--b", "0.4,0.9"}, "ndcg", "30");

  const std::string whole = sample.indexes.front();
  sample.scoring = {};
  sample.indexes.clear();
  for (const char* number : {"1", "2", "3"}) {
    sample.indexes.push_back(sample.folder->path(std::string("shard-") + number));
    ended_well({"cut", whole, "--shard", fmt::format("{}/3", number), "-o", sample.indexes.back(), "--quiet"});
  }
  sample.check({"--k1", "0.6,1.8", "--b", "0.1,0.75"}, "map", "15");
}

TEST_CASE("tune chooses each fold's point on the others", "[cli][tune]") {
  RandomBits random(59);
  TuningCase drawn;
  draw_corpus(random, drawn, {});
  const json tuned = drawn.tune({"--k1", "0:2:0.5", "--b", "0,0.5,1", "--folds", "4"});
  REQUIRE(tuned["folds"].size() == 4);
  std::vector<json> points = {tuned["start"]};  // which is chosen unless another is better
  points.insert(points.end(), tuned["points"].begin(), tuned["points"].end());
  // Sums over the folds and over the others, by point.
  std::vector<std::array<double, 4>> within, others;
  std::array<double, 4> queries = {};
  for (const json& point : points) {
    const json by_query = drawn.measured(point, {"--measures", "map"}, "1000")["by_query"];
    within.emplace_back();
    others.emplace_back();
    queries = {};
    for (std::size_t query = 0; query < by_query.size(); ++query)
      for (std::size_t fold = 0; fold < 4; ++fold) {
        (query % 4 == fold ? within : others).back()[fold] += by_query[query]["measures"]["map"].get<double>();
        queries[fold] += query % 4 == fold;
      }
  }
  double sum = 0, all = 0;
  for (std::size_t fold = 0; fold < 4; ++fold) all += queries[fold];
  for (std::size_t fold = 0; fold < 4; ++fold) {
    std::size_t best = 0;
    for (std::size_t point = 0; point < others.size(); ++point)
      if (others[point][fold] / (all - queries[fold]) > others[best][fold] / (all - queries[fold])) best = point;
    const json& found = tuned["folds"][fold];
    CHECK(found["queries"].get<double>() == queries[fold]);
    CHECK((found["k1"] == points[best]["k1"] && found["b"] == points[best]["b"]));
    CHECK(found["value"].get<double>() == within[best][fold] / queries[fold]);
    CHECK(found["others"].get<double>() == others[best][fold] / (all - queries[fold]));
    sum += within[best][fold];
  }
  CHECK(tuned["cross_validated"].get<double>() == sum / all);
}

TEST_CASE("tune answers each fold with its point, as one run", "[cli][tune]") {
  RandomBits random(67);
  for (const CommandLine& scoring : {CommandLine{}, CommandLine{"--idf", "robertson"}}) {
    TuningCase drawn;
    draw_corpus(random, drawn, {});
    drawn.scoring = scoring;
    const std::string validated = drawn.folder->path("validated");
    const json tuned =
        drawn.tune({"--k1", "0:2:0.5", "--b", "0,0.5,1", "--folds", "3", "-k", "20", "-o", validated, "--force"});
    std::map<std::string, std::string> lines;  // by query
    for (const std::string& line : lines_of(read_file(validated))) lines[line.substr(0, line.find(' '))] += line + "\n";
    CHECK(lines.size() == tuned["queries"]);
    std::size_t number = 0;  // of the query in the order of ids, as in the map
    for (const auto& [qid, results] : lines) {
      drawn.measured(tuned["folds"][number++ % 3], {"--measures", "map"}, "20");
      std::string expected;
      for (const std::string& line : lines_of(read_file(drawn.folder->path("run"))))
        if (line.starts_with(qid + " ")) expected += line + "\n";
      CHECK(results == expected);
    }
    const json measured =
        ended_well({"eval", validated, drawn.qrels, "--measures", "map", "--json", "--quiet"}).json()["measures"];
    CHECK(std::abs(measured["map"].get<double>() - tuned["cross_validated"].get<double>()) < 1e-12);
  }
}

TEST_CASE("tune keeps the index's parameters if no other point is better", "[cli][tune]") {
  const TuningCase sample = sample_case();
  const json tuned = sample.tune({"--measure", "num_ret", "--folds", "3"});
  CHECK(tuned["best"] == tuned["start"]);
  for (const json& fold : tuned["folds"]) CHECK((fold["k1"] == 1.2 && fold["b"] == 0.75));
  const std::string text = ended_well({"tune", sample.indexes.front(), "-q", sample.topics, "--qrels", sample.qrels,
                                       "--measure", "num_ret", "--quiet"})
                               .out;
  CHECK(contains(text, " with k1 1.2, b 0.75; no other point is better\n"));
}

TEST_CASE("tune ascends by coordinates", "[cli][tune]") {
  RandomBits random(61);
  TuningCase drawn;
  draw_corpus(random, drawn, {});
  const CommandLine grid = {"--k1", "0:3:0.5", "--b", "0:1:0.25"};
  const json all = drawn.tune(grid);
  for (const char* const start : {"k1=0.5,b=0", "k1=3,b=1", "b=0.6"}) {
    INFO(start);
    CommandLine options = grid;
    options.insert(options.end(), {"--by-coordinates", "--start", start});
    const json tuned = drawn.tune(options);
    CHECK(tuned["points"].size() < all["points"].size());
    const auto value_at = [&](const json& k1, const json& b) {
      for (const json& point : all["points"])
        if (point["k1"] == k1 && point["b"] == b) return point["value"].get<double>();
      return -1.0;
    };
    // No neighbour along either axis is better, and each trial has its value.
    const json& best = tuned["best"];
    CHECK(best["value"].get<double>() >= tuned["start"]["value"].get<double>());
    for (const json& point : all["points"])
      if (point["k1"] == best["k1"] || point["b"] == best["b"]) CHECK(point["value"] <= best["value"]);
    for (const json& point : tuned["points"])
      if (const double value = value_at(point["k1"], point["b"]); value >= 0) CHECK(point["value"] == value);
  }
}

TEST_CASE("tune refuses what it can't do, and says why", "[cli][tune][errors]") {
  const TuningCase sample = sample_case();
  const auto says = [&](CommandLine options, const char* part, int status = 2) {
    options.insert(options.begin(), {"-q", judged_topics, "--qrels", topic_qrels});
    const std::string error = refused(sample, options, status);
    INFO(error);
    CHECK(contains(error, part));
  };
  says({"--k1", "0.4:2.0"}, "'0.4:2.0' has no step: write FIRST:LAST:STEP");
  says({"--k1", "0.4:2.0:0"}, "the step is 0");
  says({"--k1", "2:1:0.5"}, "the last value is below the first");
  says({"--k1", "1:2:0.5:3"}, "has more than FIRST:LAST:STEP");
  says({"--k1", "nan"}, "'nan' is neither a number nor FIRST:LAST:STEP");
  says({"--k1", "0.4:nan:0.1"}, "'nan' is not a decimal");
  says({"--k1", ""}, "--k1");
  says({"--k1", "0:1000:0.001"}, "is 1000001 values");
  says({"--k1", "0:999:1", "--b", "0:0.999:0.001"}, "a grid of 1000000 points is too large", 1);
  says({"--k1", "0:0.99:0.01", "--b", "0:0.99:0.01", "--folds", "20", "--memory", "32M"},
       "points with 20 folds don't fit in the memory; raise --memory, or lower --folds", 1);
  says({"--k1", "1001"}, "--k1: 1001 is not a number from 0 to 1000");
  says({"--b", "0:1.5:0.5"}, "--b: 1.5 is not a number from 0 to 1");
  says({"--k1", "1,2,1"}, "k1: has the value 1 twice", 1);
  says({"--alpha", "0.5"}, "--alpha needs --scorer bm25+pagerank");
  says({"--mu", "5"}, "--mu");
  says({"--run", "my.run"}, "unknown option --run; quern query writes a run, with the options that quern tune prints");
  says({"-o", "my.run"}, "--output needs --folds");
  says({"--folds", "2", "-o", topic_qrels.c_str()}, "--output");
  says({"--start", "mu=5", "--by-coordinates"}, "mu");
  says({"--start", "k1=5"}, "--start needs --by-coordinates");
  says({"--measure", "bert"}, "unknown measure 'bert'");
  says({"--measure", "P"}, "P is 9 measures; name one, such as P_5");
  says({"--folds", "1"}, "--folds");
  says({"--folds", "21"}, "21 folds need as many judged queries with results, but there are 20", 1);
  says({"-k", "0"}, "-k");

  TemporaryFolder folder;
  const auto says_of = [&](const std::string& own_topics, const std::string& own_qrels, const char* part) {
    const std::string error = refused(sample,
                                      {"-q", folder.write("t", own_topics), "--qrels", folder.write("q", own_qrels),
                                       "--queries-format", "tsv", "--folds", "2"},
                                      1);
    INFO(error);
    CHECK(contains(error, part));
  };
  says_of("1\twater\n", "1 0 MILL-0001 1\n", "2 folds need as many judged queries with results, but there is 1");
  says_of("1\twater\n1\tmill\n", "1 0 MILL-0001 1\n", "two topics have the id 1");
  says_of("1\twater\n", "2 0 MILL-0001 1\n", "have no query in common: the first topic is 1");
  says_of("1\txyzzy\n", "1 0 MILL-0001 1\n", "no judged query has results");
  says_of("1\twater\n", "\n", "has no judgements");
  says_of("1\twater\n", "1 0 MILL-0001 1\n1 0 MILL-0001 1\n", "already in line 1");
  CHECK(contains(refused(sample, {"-q", "-", "--qrels", "-"}, 2), "can't both be read from standard input"));
}

TEST_CASE("tune refuses indexes of fixed weights, and says how to compare them", "[cli][tune][errors]") {
  const TuningCase weighed = sample_case({"--weights", "qld:mu=500"});
  const std::string error = refused(weighed, {"-q", judged_topics, "--qrels", topic_qrels}, 1);
  INFO(error);
  CHECK(contains(error, "stores weights of the model qld:mu=500, fixed when it was built"));
  CHECK(contains(error, "quern index --weights"));
}

TEST_CASE("tuning is plotted if matplotlib is installed", "[cli][tune]") {
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) {
    WARN("skipped: no matplotlib");
    return;
  }
  const TuningCase sample = sample_case({"--pagerank", "links"});
  const std::string plots = sample.folder->path("plots"), printed = " > " + sample.folder->path("printed");
  const auto draw = [&](const std::string& name, const CommandLine& options) {
    const std::string file = sample.folder->write(name + ".json", sample.tune(options).dump());
    return std::system((std::string(QUERN_SOURCE_DIR) + "/scripts/plot -o " + plots + " " + file + printed).c_str());
  };
  CHECK(draw("line", {"--k1", "0.4:2.0:0.4"}) == 0);
  CHECK(draw("map", {}) == 0);
  CHECK(draw("ascent", {"--k1", "0:3:0.2", "--b", "0:1:0.05", "--by-coordinates"}) == 0);
  CHECK(draw("maps", {"--k1", "1,2", "--b", "0,1", "--scorer", "bm25+pagerank", "--alpha", "0:0.4:0.2"}) == 0);
  for (const char* const name : {"line", "map", "ascent", "maps"}) {
    INFO(name);
    const std::string svg = read_file(plots + "/" + name + ".svg");
    CHECK((contains(svg, "<svg") && contains(svg, "of 20 topics")));
    CHECK(read_file(plots + "/" + name + ".png").starts_with("\x89PNG"));
  }
  CHECK(contains(read_file(plots + "/maps.svg"), "alpha 0.2"));
  CHECK(draw("point", {"--k1", "1"}) != 0);
}

TEST_CASE("tune has the same output with any number of threads, and ends on Ctrl-C", "[cli][tune]") {
  const TuningCase sample = sample_case();
  CHECK(sample.tune({"-j", "1", "--folds", "3"}) == sample.tune({"-j", "3", "--folds", "3", "--memory", "64M"}));
  // Judgements from standard input never come.
  RunningQuern waiting({"tune", sample.indexes.front(), "-q", judged_topics, "--qrels", "-"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(waiting.kill(SIGINT) == 128 + SIGINT);
}

}  // namespace quern
