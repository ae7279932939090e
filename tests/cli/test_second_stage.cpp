#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "catch.hpp"
#include "cli/checked_runs.hpp"
#include "cli/small_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"

/// From a corpus to reranked results: --forward, features, rerank, query --ranker.
namespace quern {
namespace {

using namespace testing;

/// A linear model of RankLib: minus the length of the body, feature 28.
constexpr const char* short_bodies_first = "## Coordinate Ascent\n28:-1.0\n";

struct ForwardSample {
  TemporaryFolder folder;
  std::string index = folder.path("index"), run = folder.path("first.run"), topics = sample_folder + "/topics.txt",
              model = folder.write("model.txt", short_bodies_first);

  ForwardSample() {
    run_well({"index", sample_folder + "/corpus", "--forward", "--order", "url", "-o", index});
    run_well({"query", index, "-q", topics, "-k", "60", "-o", run});
  }
};

/// The score of each line of a TREC run, and its documents by topic.
struct RunRow {
  std::string qid, docno;
  double score = 0;
};
std::vector<RunRow> rows_of(const std::string& run) {
  std::vector<RunRow> rows;
  for (const std::string& line : lines_of(run)) {
    std::istringstream in(line);
    RunRow row;
    std::string ignored;
    in >> row.qid >> ignored >> row.docno >> ignored >> row.score;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("an index built with --forward has the tokens of its documents", "[cli][second_stage]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("c.trecweb", small_trecweb), index = folder.path("index"),
                    collection = folder.path("collection"), built = folder.path("built");
  const auto json = run_well({"index", corpus, "--forward", "-o", index, "--json"}).json();
  CHECK(json["forward"]["documents"] == 4);
  CHECK(json["forward"]["anchors"] == 1);
  CHECK(json["forward"]["file_bytes"] == std::filesystem::file_size(index + "/forward.quern"));
  CHECK(names_in(index) == CommandLine{"forward.quern", "index.quern"});
  CHECK(run_well({"inspect", index, "--tokens", "M-3"}).out ==
        "title\tstones\nbody\ttwo stones grind the lower stone lies still\nurl\thttp www mill example stone\n"
        "anchor\tstones\n");
  const auto tokens = run_well({"inspect", index, "--tokens", "M-1", "--json"}).json();
  CHECK(tokens["title"] == nlohmann::json::array({{"the", "wheel"}}));
  CHECK(tokens["links"] == 1);
  CHECK(tokens["out_links"] == 1);
  CHECK(tokens["url_depth"] == 1);
  CHECK(contains(run_well({"verify", index}).out, "forward.quern: forward file"));
  CHECK(contains(run_well({"inspect", index, "--config"}).out, "forward = true"));
  CHECK(run_well({"inspect", index + "/forward.quern", "--json"}).json()["anchor_tokens"] == 1);
  // Running the stages one by one with the same order gives the same bytes.
  const std::string order = folder.path("order");
  run_well({"parse", corpus, "-o", collection});
  run_well({"order", collection, "--by", "url", "-o", order});
  run_well({"build", collection, "--order", order, "--forward", "-o", built});
  CHECK(read_file(built + "/forward.quern") == read_file(index + "/forward.quern"));
  // Replacing an index without the flag removes the file, and a file of another index is refused.
  run_well({"build", collection, "-o", built, "--force"});
  CHECK(names_in(built) == CommandLine{"index.quern"});
  check_failure({"inspect", built, "--tokens", "M-1"}, {"no forward file", "quern index --forward"});
  std::filesystem::copy_file(index + "/forward.quern", built + "/forward.quern");
  check_failure({"inspect", built, "--tokens", "M-1"}, {"forward file of another index"});
  check_failure({"verify", built}, {"forward file of another index"});
}

TEST_CASE("features are the same with any number of threads, and chosen by name", "[cli][second_stage]") {
  const ForwardSample sample;
  const CommandLine command{"features", sample.index, "-q",      sample.topics,
                            "--run",    sample.run,   "--qrels", sample_folder + "/qrels.txt"};
  const auto with = [&](CommandLine more) {
    more.insert(more.begin(), command.begin(), command.end());
    return run_well(more);
  };
  const std::string one = with({"-j", "1"}).out;
  CHECK(with({"-j", "3"}).out == one);
  const CommandLine lines = lines_of(one);
  CHECK(lines.size() == lines_of(read_file(sample.run)).size());
  CHECK(contains(lines.front(), " qid:"));
  CHECK(contains(one, "\n1 qid:"));
  // Selected features have the numbers of the list, and the same values as among all.
  const auto row = nlohmann::json::parse(lines_of(with({"--json"}).out).front());
  const auto chosen = nlohmann::json::parse(lines_of(with({"--json", "--features", "body.bm25,query.*"}).out).front());
  CHECK(chosen["features"].size() == 6);
  for (const auto& [name, value] : chosen["features"].items()) CHECK(row["features"][name] == value);
  const auto list = run_well({"features", "--list", "--json"}).json();
  CHECK(list.size() == row["features"].size());
  CHECK(list[27]["name"] == "body.length");
  check_failure({"features", sample.index, "-q", sample.topics, "--run", sample.run, "--features", "body.nothing"},
                {"body.nothing", "quern features --list"});
  CHECK(run_quern({"features", sample.index, "-q", sample.topics}).exit_status == 2);
  CHECK(run_quern({"features", "-q", sample.topics, "--run", sample.run}).exit_status == 2);
}

TEST_CASE("topics may have models of their own", "[cli][second_stage]") {
  const ForwardSample sample;
  const std::string longest = sample.folder.write("long.txt", "## Coordinate Ascent\n28:1.0\n"),
                    titles = sample.folder.write("titles.txt", "## Coordinate Ascent\n1:2.0\n5:-1.5\n"),
                    table = sample.folder.path("by-topic.tsv");
  const auto reranked = [&](const std::string& model, CommandLine more = {}) {
    CommandLine command{"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", model, "-j", "2"};
    command.insert(command.end(), more.begin(), more.end());
    return run_quern(command);
  };
  const std::string by_length = reranked(sample.model).out, by_longest = reranked(longest).out,
                    by_title = reranked(titles).out;
  std::vector<std::string> topics;
  for (const RunRow& row : rows_of(by_length))
    if (topics.empty() || topics.back() != row.qid) topics.push_back(row.qid);
  REQUIRE(topics.size() > 4);
  sample.folder.write("by-topic.tsv", topics[3] + "\t" + longest + "\r\n\n" + topics[0] + "\t" + titles + "\n" +
                                          topics[1] + "\t" + longest + "\n" + topics[4] + " \t " + sample.model +
                                          "\nnever\t" + longest);
  const auto mixed = reranked(sample.model, {"--rankers", table});
  CHECK(contains(mixed.err, table + ": names 5 topics, of which the run has 4"));
  std::string expected;
  for (const std::string& topic : topics) {
    const std::string& from = topic == topics[3] || topic == topics[1] ? by_longest
                              : topic == topics[0]                     ? by_title
                                                                       : by_length;
    for (const std::string& line : lines_of(from))
      if (line.starts_with(topic + ' ')) expected += line + '\n';
  }
  CHECK(mixed.out == expected);
  const auto refused = [&](const std::string& lines, const std::string& why) {
    sample.folder.write("by-topic.tsv", lines);
    const auto run = reranked(sample.model, {"--rankers", table});
    CHECK(run.exit_status != 0);
    CHECK(contains(run.err, why));
  };
  refused("1\t" + longest + "\n1\t" + longest + "\n", "line 2: topic 1 has a model already");
  refused("1 " + longest + "\n", "line 1: is not topic<TAB>model: it has no tab");
  refused("1\tnothing.txt\n", "nothing.txt");
  refused("1\t" + sample.topics + "\n", "topics.txt");
}

TEST_CASE("rerank and query --ranker give the same run, in the order of the model", "[cli][second_stage]") {
  const ForwardSample sample;
  const std::string reranked =
      run_well({"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", sample.model}).out;
  CHECK(run_well({"query", sample.index, "-q", sample.topics, "--ranker", sample.model, "--rerank", "60", "-k", "60",
                  "-j", "3"})
            .out == reranked);
  const std::vector<RunRow> rows = rows_of(reranked);
  CHECK(rows.size() == lines_of(read_file(sample.run)).size());
  const std::string features = run_well({"features", sample.index, "-q", sample.topics, "--run", sample.run,
                                         "--features", "body.length", "--json"})
                                   .out;
  std::map<std::pair<std::string, std::string>, double> lengths;
  for (const std::string& line : lines_of(features)) {
    const auto json = nlohmann::json::parse(line);
    lengths[{json["qid"], json["docno"]}] = json["features"]["body.length"];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].score == -lengths.at({rows[i].qid, rows[i].docno}));
    if (i > 0 && rows[i].qid == rows[i - 1].qid) CHECK(rows[i].score <= rows[i - 1].score);
  }
  // The model's k best among the first stage's results.
  const std::string best =
      run_well({"query", sample.index, "-q", sample.topics, "--ranker", sample.model, "--rerank", "60", "-k", "3"}).out;
  std::map<std::string, int> met;
  std::string expected;
  for (const std::string& line : lines_of(reranked))
    if (met[line.substr(0, line.find(' '))]++ < 3) expected += line + "\n";
  CHECK(best == expected);
}

TEST_CASE("runs in any order are read, and bytes do not depend on memory and threads", "[cli][second_stage]") {
  const ForwardSample sample;
  // Sorted by rank instead of topic; the topics' first lines keep their order.
  CommandLine lines = lines_of(read_file(sample.run));
  const auto rank_of = [](const std::string& line) {
    std::istringstream in(line);
    std::string qid, ignored, docno;
    int rank = 0;
    in >> qid >> ignored >> docno >> rank;
    return rank;
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const std::string& a, const std::string& b) { return rank_of(a) < rank_of(b); });
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::string mixed = sample.folder.write("mixed.run", text);
  CHECK(text != read_file(sample.run));
  for (const char* command : {"rerank", "features"}) {
    const auto with = [&](const std::string& run, CommandLine more) {
      CommandLine words{command, sample.index, "--run", run, "-q", sample.topics};
      if (words[0] == "rerank") words.insert(words.end(), {"--ranker", sample.model});
      if (words[0] == "features") words.insert(words.end(), {"--qrels", sample_folder + "/qrels.txt"});
      words.insert(words.end(), more.begin(), more.end());
      return run_well(words).out;
    };
    const std::string expected = with(sample.run, {});
    CHECK(with(mixed, {}) == expected);
    CHECK(with(mixed, {"--memory", "32M", "-j", "7"}) == expected);
  }
}

TEST_CASE("models are bound to features by number and by name", "[cli][second_stage]") {
  const ForwardSample sample;
  const auto reranked = [&](const std::string& model, const std::string& features) {
    return run_quern(
        {"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", model, "--features", features});
  };
  const std::string expected = reranked(sample.model, "all").out;
  const std::string first = sample.folder.write("first.txt", "## Coordinate Ascent\n1:-1.0\n");
  CHECK(reranked(first, "body.length").out == expected);
  CHECK(reranked(first, "body.length,title.*").out == expected);
  // LightGBM's columns are those of a feature file, of an array, or neither.
  const auto tree = [&](int columns, int feature) {
    return sample.folder.write(
        "tree.txt",
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=" + std::to_string(columns - 1) +
            "\nobjective=lambdarank\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=" + std::to_string(feature) +
            "\nsplit_gain=1\nthreshold=200\ndecision_type=2\nleft_child=-1\n"
            "right_child=-2\nleaf_value=1 2\nshrinkage=1\n\nend of trees\n");
  };
  const std::string by_column = reranked(tree(126, 28), "all").out;
  CHECK(contains(by_column, " 2 quern"));
  CHECK(contains(by_column, " 1 quern"));
  CHECK(reranked(tree(125, 27), "all").out == by_column);
  CHECK(reranked(tree(1, 0), "body.length").out == by_column);
  CHECK(reranked(tree(2, 1), "body.length").out == by_column);
  CHECK(contains(reranked(tree(30, 28), "all").err, "30 columns"));
  // Dumps do not say what they number features from, unless they use the last one.
  const auto dump = [&](const std::string& feature) {
    return sample.folder.write("dump.txt", "0:[f" + feature + "<200.5] yes=1,no=2,missing=2\n1:leaf=1\n2:leaf=2\n");
  };
  const auto numbered = [&](const std::string& feature, const std::string& from) {
    return run_quern({"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", dump(feature),
                      "--features-from", from});
  };
  CHECK(numbered("28", "1").out == by_column);
  CHECK(numbered("27", "0").out == by_column);
  CHECK(reranked(dump("1"), "body.length").out == by_column);
  CHECK(contains(reranked(dump("27"), "all").err, "use --features-from 0 or 1"));
  CHECK(contains(reranked(dump("0"), "all").err, "reads feature 0, so it was trained on an array"));
  CHECK(contains(reranked(dump("0"), "all").err, "use --features-from 0"));
  CHECK(contains(numbered("0", "1").err, "numbered from 1"));
  CHECK(contains(run_quern({"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", sample.model,
                            "--features-from", "0"})
                     .err,
                 "numbered from 1, which --features-from 0 contradicts"));
  CHECK(contains(numbered("125", "0").err, "numbered from 0"));
  CHECK(contains(run_quern({"query", sample.index, "--query", "mill", "--features-from", "0"}).err, "need --ranker"));
  check_failure({"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", sample.model,
                 "--features", "body.length"},
                {sample.model, "feature 28", "--features"});
}

TEST_CASE("runs, topics and indexes that do not belong together are errors", "[cli][second_stage]") {
  const ForwardSample sample;
  const auto rerank = [&](const std::string& run, const std::string& topics) {
    return CommandLine{"rerank", sample.index, "--run", run, "-q", topics, "--ranker", sample.model};
  };
  const std::string unknown = sample.folder.write("unknown.run", "1 Q0 NOBODY 1 2.0 x\n"),
                    topics = sample.folder.write("one.tsv", "1\twater mill\n"),
                    twice = sample.folder.write("twice.run", "1 Q0 MILL-0001 1 2 x\n1 Q0 MILL-0001 2 1 x\n"),
                    other = sample.folder.write("other.run", "77 Q0 MILL-0001 1 2 x\n"),
                    texts = sample.folder.write("two.tsv", "1\twater\n1\tmill\n");
  check_failure(rerank(unknown, topics), {unknown, "line 1", "NOBODY"});
  check_failure(rerank(twice, topics), {twice, "MILL-0001", "twice"});
  check_failure(rerank(other, topics), {other, "line 1", "topic 77", topics});
  check_failure(rerank(other, texts), {texts, "topic 1", "two texts"});
  check_failure({"query", sample.index, "--query", "mill", "--ranker", sample.folder.path("none")}, {"none"});
  const std::string plain = sample.folder.path("plain");
  run_well({"index", sample_folder + "/corpus", "-o", plain});
  check_failure({"query", plain, "--query", "mill", "--ranker", sample.model}, {"no forward file", "--forward"});
  CHECK(run_quern({"query", sample.index, "--query", "mill", "--rerank", "10"}).exit_status == 2);
  const RunOutcome fewer =
      run_quern({"query", sample.index, "--query", "mill", "--ranker", sample.model, "--rerank", "5"});
  CHECK(fewer.exit_status == 2);
  CHECK(contains(fewer.err, "--rerank 5 leaves fewer results than -k 10; use -k 5 or --rerank 10"));
  CHECK(run_quern({"rerank", sample.index, "--run", sample.run, "-q", sample.topics}).exit_status == 2);
}

TEST_CASE("queries of hundreds and thousands of terms are reranked", "[cli][second_stage]") {
  const ForwardSample sample;
  std::string query;
  for (int i = 0; i < 500; ++i) query += "term" + std::to_string(i) + " mill water ";
  CHECK(lines_of(run_well({"query", sample.index, "--query", query, "--ranker", sample.model, "--rerank", "50", "-k",
                           "5", "--output-format", "trec"})
                     .out)
            .size() == 5);
  for (int i = 500; i < 4200; ++i) query += "term" + std::to_string(i) + " ";
  CHECK(run_well(
            {"query", sample.index, "--query", query, "--ranker", sample.model, "-k", "5", "--output-format", "trec"})
            .out.size() > 0);
}

TEST_CASE("features agree with a plain reference", "[cli][second_stage]") {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return;
  }
  const ForwardSample sample;
  const std::string topics = sample.folder.write(
      "topics.tsv",
      "1\twater mill\n2\tmill mill wheel stones the\n3\tunknown http\n4\tgrinding grain by hand\n5\twww\n"
      "6\tthe of and a in to by was with for from at on his is it mill water wheel stone grain flour river wind oats "
      "http "
      "www unknown none the mill\n");
  const std::string run = sample.folder.path("few.run");
  run_well({"query", sample.index, "-q", topics, "-k", "25", "-o", run});
  const std::string command = std::string("python3 '") + QUERN_SOURCE_DIR +
                              "/tests/rank/features/reference_features.py' '" + QUERN_EXECUTABLE + "' '" +
                              sample.index + "' '" + topics + "' '" + run + "'";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("results are reranked on the CPU without a GPU, unless a GPU is required", "[cli][second_stage]") {
  const ForwardSample sample;
  const CommandLine rerank{"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", sample.model},
      query{"query", sample.index, "-q", sample.topics, "--ranker", sample.model, "--rerank", "60"};
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  for (const CommandLine& command : {rerank, query}) {
    const std::string on_cpu = run_well(command).out;
    const auto with = [&](const CommandLine& more) {
      CommandLine words = command;
      words.insert(words.end(), more.begin(), more.end());
      return run_quern(words, no_gpu);
    };
    const RunOutcome on_any = with({"--device", "auto", "--gpu-options", "ranker-memory=1M,gpu-from=1"});
    CHECK(on_any.exit_status == 0);
    CHECK(on_any.out == on_cpu);
    CHECK(contains(on_any.err, "results are reranked on the CPU"));
    const RunOutcome on_gpu = with({"--device", "gpu"});
    CHECK(on_gpu.exit_status == 1);
    CHECK(on_gpu.out.empty());
    CHECK(contains(on_gpu.err, "--device cpu"));
    CHECK(with({"--device", "gpu", "--gpu-options", "ranker-memory=lots"}).exit_status == 2);
  }
  CHECK(run_quern({"query", sample.index, "--query", "mill", "--gpu-options", "fast-math"}).exit_status == 2);
}

TEST_CASE("a GPU reranks as the CPU does", "[cli][second_stage][gpu]") {
  SKIP_WITHOUT_GPU();
  const ForwardSample sample;
  const std::string stats = sample.folder.path("stats");
  const CommandLine rerank{"rerank", sample.index, "--run", sample.run, "-q", sample.topics, "--ranker", sample.model},
      query{"query", sample.index, "-q", sample.topics, "--ranker", sample.model, "--rerank", "60"};
  for (const CommandLine& command : {rerank, query}) {
    const std::string on_cpu = run_well(command).out;
    for (const char* const device : {"gpu", "auto"}) {
      CommandLine words = command;
      words.insert(words.end(), {"--device", device, "--gpu-options", "gpu-from=1", "--stats", stats, "--force"});
      CHECK(run_well(words).out == on_cpu);
      const auto counts = nlohmann::json::parse(read_file(stats))["rerank_on_gpu"];
      CHECK(counts["documents_on_gpu"] > 0);
      CHECK(counts["documents_on_cpu"] == 0);
    }
  }
}

}  // namespace quern
