#include <cstdlib>
#include <filesystem>

#include "quern/formats/tables/query_times.hpp"

#include "catch.hpp"
#include "cli/bench_environment.hpp"
#include "cli/run_quern.hpp"

/// Benchmarks from the shell: their output, and arguments that they refuse. Times must be present; their values are not
/// checked.
namespace quern {

using namespace testing;

TEST_CASE("bench gpu-decode groups lists by length, with one of the known groupings", "[cli][measure]") {
  const RunOutcome unknown = run_quern({"bench", "gpu-decode", "nowhere.quern", "--lengths", "threes"});
  CHECK(unknown.exit_status != 0);
  CHECK(contains(unknown.err, "doubling"));
  const RunOutcome both =
      run_quern({"bench", "gpu-decode", "nowhere.quern", "--lengths", "doubling", "--least-postings", "5"});
  CHECK(both.exit_status != 0);
  CHECK(contains(both.err, "--least-postings"));
  for (const CommandLine& ignored :
       {CommandLine{"--lookups", "100", "--lengths", "doubling"}, {"x", "--longer", "2"}}) {
    CommandLine words = {"bench", "gpu-decode"};
    words.insert(words.end(), ignored.begin(), ignored.end());
    CHECK(run_quern(words).exit_status == 2);
  }
  CHECK(contains(run_quern({"bench", "codec", "x", "--seed", "2"}).err, "--seed needs --synthetic"));
}

TEST_CASE("bench pagerank accepts --docs only with --links", "[cli][measure]") {
  for (const CommandLine& options :
       {CommandLine{"nowhere", "--docs", "5"}, CommandLine{"nowhere", "--links", "no.tsv", "--docs", "5"},
        CommandLine{"--docs", "5"}}) {
    CommandLine words = {"bench", "pagerank"};
    words.insert(words.end(), options.begin(), options.end());
    const RunOutcome outcome = run_quern(words);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "--docs"));
  }
  const TemporaryFolder folder;
  const std::string links = folder.write("links.tsv", "a\tb\nb\ta\n");
  const RunOutcome alone = run_quern({"bench", "pagerank", "--links", links, "--docs", "5", "--json"});
  INFO(alone.err);
  REQUIRE(alone.exit_status == 0);
  CHECK(alone.json()["documents"] == 5);
}

TEST_CASE("bench intersect refuses queries without a posting", "[cli][measure]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("c.jsonl", "{\"id\":\"a\",\"contents\":\"water mill\"}\n");
  REQUIRE(run_quern({"index", corpus, "-o", folder.path("index")}).exit_status == 0);
  const RunOutcome nothing =
      run_quern({"bench", "intersect", folder.path("index"), "--query", "unknown", "--repeats", "1"});
  CHECK(nothing.exit_status == 1);
  CHECK(contains(nothing.err, "none of the 1 queries has all of its terms"));
  const RunOutcome some = run_quern({"bench", "intersect", folder.path("index"), "--query", "mill", "--repeats", "1"});
  CHECK(some.exit_status == 0);
}

TEST_CASE("bench query --visits counts what queries read before they end early", "[cli][measure]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index, "--order", "score"}).exit_status == 0);
  const CommandLine words = {"bench", "query", index, "-q", sample_folder + "/topics.txt", "--visits", "-k", "1,10"};
  CommandLine as_json = words;
  as_json.push_back("--json");
  const auto json = run_quern(as_json).json();
  CHECK(json["bench"] == "visits");
  REQUIRE(json["visits"].size() == 2);
  for (const auto& row : json["visits"]) {
    CHECK(row["queries"] > 0);
    CHECK(row["blocks_decoded"] <= row["blocks"]);
    CHECK(row["depths"][0]["postings_read"] <= row["depths"][0]["postings"]);
    CHECK(row["curve"]["visits"].is_array());
  }
  CHECK(json["visits"][0]["stopped_early"] >= json["visits"][1]["stopped_early"]);
  CHECK(contains(run_quern(words).out, "l(0) read"));
  const SampleIndexes plain;
  const RunOutcome late = run_quern({"bench", "query", plain.newpfd, "--query", "mill", "--visits"});
  CHECK(late.exit_status == 1);
  CHECK(contains(late.err, "has no PageRank"));
}

TEST_CASE("bench query measures algorithms, k and indexes in one run", "[cli][measure]") {
  const SampleIndexes indexes;
  const RunOutcome outcome = run_quern({"bench", "query", indexes.newpfd, indexes.rice, "-q",
                                        sample_folder + "/topics.txt", "-a", "maxscore,or,and", "-k", "3,10",
                                        "--repeats", "2", "--queries-limit", "7", "-j", "2", "--json", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  CHECK(json["bench"] == "query");
  check_environment(json["environment"]);
  CHECK(json["queries"]["count"] == 7);
  REQUIRE(json["indexes"].size() == 2);
  CHECK(json["indexes"][1]["codec"] == "rice");
  REQUIRE(json["results"].size() == 12);
  CHECK(json["results"][0]["idf"] == "lucene");
  std::size_t place = 0;
  for (const auto& index : json["indexes"])
    for (const int k : {3, 10})
      for (const char* algorithm : {"maxscore", "or", "and"}) {
        const auto& row = json["results"][place++];
        INFO(row.dump(1));
        CHECK(row["index"] == index["index"]);
        CHECK(row["k"] == k);
        CHECK(row["algorithm"] == algorithm);
        CHECK(row["queries"] == 7);
        CHECK(row["compared_with"] == "or");
        for (const char* share : {"postings_scored_share", "blocks_decoded_share"}) {
          CHECK(row[share] >= 0);
          CHECK(row[share] <= 1);
        }
        for (const char* time : {"mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "queries_per_second",
                                 "effective_postings_per_second", "speedup"})
          CHECK(row[time] > 0);
        std::size_t queries = 0;
        for (const auto& length : row["by_length"]) queries += length["queries"].get<std::size_t>();
        CHECK(queries == 7);
        REQUIRE(row["batches"].size() == 2);
        CHECK(row["batches"][0]["speedup"] == 1.0);
        CHECK(row["batches"][1]["threads"] == 2);
      }
}

TEST_CASE("bench query writes the times of single queries", "[cli][measure]") {
  const SampleIndexes indexes;
  const TemporaryFolder folder;
  const std::string file = folder.path("times.tsv");
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench", "query",  indexes.newpfd, "-q", "-",       "-k", "3,10",
                                      "-a",    "or,and", "--repeats",    "1",  "--times", file, "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_quern(words, {"mill stone\nmill zzunknown\nzzunknown\n", {}, {}, {}});
  };
  const RunOutcome outcome = bench({});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const QueryTimeTable times = parse_query_times(read_file(file), file);
  CHECK(times.index_hash.size() == 16);
  CHECK(times.scoring == "exact scores");
  CHECK(times.gpu.empty());
  REQUIRE(times.rows.size() == 3 * 4);
  for (std::size_t i = 0; i < times.rows.size(); ++i) {
    const QueryTime& row = times.rows[i];
    INFO(i);
    CHECK(row.query == i % 3 + 1);
    CHECK(row.device == Processor::cpu);
    CHECK(row.k == (i < 6 ? 3 : 10));
    CHECK(row.algorithm == (i % 6 < 3 ? "or" : "and"));
    CHECK(row.strategy.empty());
    CHECK(row.batch == 1);
    // An intersection without one of its terms reads no list.
    const std::size_t terms[2][3] = {{2, 1, 0}, {2, 0, 0}};
    CHECK(row.features.terms == terms[row.algorithm == "and"][i % 3]);
    if (row.features.terms == 2) CHECK(row.features.shortest + row.features.second == row.features.postings);
    if (row.features.terms == 1) CHECK(row.features.shortest == row.features.postings);
    CHECK((row.features.blocks > 0) == (row.features.terms > 0));
  }
  const RunOutcome again = bench({});
  CHECK(again.exit_status == 1);
  CHECK_THAT(again.err, Catch::Contains("already exists"));
  CHECK(bench({"--force", "--idf", "robertson"}).exit_status == 0);
  CHECK(parse_query_times(read_file(file), file).scoring == "exact scores, robertson IDF");
  // A file holds times of one index with one scoring.
  CHECK(bench({"--force", "--scores", "exact,quantized"}).exit_status != 0);
  CHECK(run_quern({"bench", "query", indexes.newpfd, indexes.rice, "--query", "mill", "--times", file, "--force"})
            .exit_status != 0);
}

TEST_CASE("bench cost fits costs to times, and tests them on other times", "[cli][measure]") {
  const SampleIndexes indexes;
  const TemporaryFolder folder;
  const std::string times = folder.path("times.tsv"), costs = folder.path("costs"), other = folder.path("other.tsv");
  for (const auto& [index, file] : {std::pair(indexes.newpfd, times), std::pair(indexes.rice, other)})
    REQUIRE(run_quern({"bench", "query", index, "-q", sample_folder + "/topics.txt", "-k", "10", "-a", "or,and",
                       "--repeats", "1", "--times", file, "--quiet"})
                .exit_status == 0);
  const RunOutcome outcome = run_quern({"bench", "cost", times, "--test", times, "-o", costs, "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  REQUIRE(json["functions"].size() == 2);
  for (const auto& function : json["functions"]) {
    CHECK(function["device"] == "cpu");
    CHECK(function["queries"] == function["tested_queries"]);
    CHECK(function["mean_relative_error"] >= 0);
    CHECK(function["leaves"] >= 1);
    std::uint64_t queries = 0;
    for (const auto& length_class : function["classes"]) queries += length_class["queries"].get<std::uint64_t>();
    CHECK(function["queries"] == queries);
  }
  const CostTable table = parse_cost_table(read_file(costs), costs);
  CHECK(table.index_hash == json["index_hash"].get<std::string>());
  REQUIRE(table.functions.size() == 2);
  CHECK(table.functions[0].error == json["functions"][0]["mean_relative_error"]);

  const RunOutcome text = run_quern({"bench", "cost", times});
  CHECK(text.exit_status == 0);
  CHECK(contains(text.out, "algorithm"));
  const RunOutcome exists = run_quern({"bench", "cost", times, "-o", costs});
  CHECK(exists.exit_status == 1);
  CHECK(contains(exists.err, "already exists"));
  const RunOutcome mixed = run_quern({"bench", "cost", times, other});
  CHECK(mixed.exit_status == 1);
  CHECK(contains(mixed.err, "a different index"));
  const RunOutcome wrong = run_quern({"bench", "cost", costs});
  CHECK(wrong.exit_status == 1);
  CHECK(contains(wrong.err, "line 4: "));
}

TEST_CASE("bench query measures exact and quantized scores side by side", "[cli][measure]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index, "--quantize", "8"}).exit_status == 0);
  const RunOutcome outcome =
      run_quern({"bench", "query", index, "-q", sample_folder + "/topics.txt", "-k", "10", "-a", "or,maxscore",
                 "--scores", "exact,quantized", "--repeats", "1", "-j", "1", "--json", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  REQUIRE(json["results"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(json["results"][i]["scores"] == (i < 2 ? "exact" : "quantized"));
    CHECK(json["results"][i]["algorithm"] == (i % 2 == 0 ? "or" : "maxscore"));
  }
  CHECK(run_quern({"bench", "query", index, "-q", "-", "--scores", "rounded"}).exit_status == 2);
}

TEST_CASE("bench query prints tables for people", "[cli][measure]") {
  const SampleIndexes indexes;
  const RunOutcome outcome = run_quern({"bench", "query", indexes.newpfd, "-q", "-", "-k", "10", "--repeats", "1"},
                                       {"1:water mill\n2:stone\n", {}, {}, {}, 0, {}});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  for (const char* shown : {"quern 0.", "maxscore", "bmw", "and-or", "k = 10", "2 queries", "p99.9", "terms"})
    CHECK(contains(outcome.out, shown));
}

TEST_CASE("bench codec measures own and third-party codecs by length of lists", "[cli][measure]") {
  const SampleIndexes indexes;
  const RunOutcome outcome =
      run_quern({"bench", "codec", indexes.newpfd, "--lengths", "all,doubling", "--codec", "rpfd,newpfd", "--recursion",
                 "0,2", "--block-size", "128", "--repeats", "1", "--json", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  CHECK(json["bench"] == "codec");
  check_environment(json["environment"]);
  REQUIRE(json["groups"].size() > 2);
  CHECK(json["groups"][0]["greatest_length"].is_null());
  CHECK(json["groups"][1]["greatest_length"] == 31);
  std::size_t postings = 0;
  for (const auto& group : json["groups"]) {
    postings += group["postings"].get<std::size_t>();
    REQUIRE(group["codecs"].size() == 3);
    for (const auto& row : group["codecs"]) {
      CHECK(row["docid_bytes_per_posting"].get<double>() * 8 == Approx(row["docid_bits_per_posting"].get<double>()));
      for (const auto& level : row["decoding"]) CHECK(level["docids_per_second"] > 0);
    }
    for (const auto& row : group["peers"]) CHECK(row["decoding"]["own"]["docids_share_of_memcpy"] > 0);
  }
  CHECK(postings == 2 * json["groups"][0]["postings"].get<std::size_t>());

  const RunOutcome table =
      run_quern({"bench", "codec", "--synthetic", "--postings", "30000", "--repeats", "1", "--no-peers"});
  CHECK(table.exit_status == 0);
  for (const char* shown : {"maskpfd", "newpfd", "rpfd", "rice", "memcpy", "10000 postings or more"})
    CHECK(contains(table.out, shown));
  CHECK_FALSE(contains(table.out, "streamvbyte"));
  CHECK(run_quern({"bench", "codec", "--synthetic", "--lengths", "tripling"}).exit_status == 2);
  CHECK(run_quern({"bench", "codec"}).exit_status == 2);
}

TEST_CASE("benchmarks are plotted if matplotlib is installed", "[cli][measure]") {
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) {
    WARN("skipped: no matplotlib");
    return;
  }
  const SampleIndexes indexes;
  const RunOutcome queries =
      run_quern({"bench", "query", indexes.newpfd, indexes.rice, "-q", sample_folder + "/topics.txt", "-k", "3,10",
                 "--repeats", "1", "--queries-limit", "7", "-j", "1", "--json", "--quiet"});
  const RunOutcome codecs = run_quern({"bench", "codec", indexes.newpfd, "--lengths", "all,doubling", "--repeats", "1",
                                       "--json", "--quiet", "--no-peers"});
  const std::string plots = indexes.folder.path("plots"),
                    plot = std::string(QUERN_SOURCE_DIR) + "/scripts/plot -o " + plots + " ";
  const std::string files = indexes.folder.write("q.json", queries.out) + " " +
                            indexes.folder.write("c.json", codecs.out) + " > " + indexes.folder.path("printed");
  REQUIRE(std::system((plot + files).c_str()) == 0);
  for (const char* name : {"q_latency_1", "q_latency_2", "q_size", "c_size_rate", "c_rate_by_length", "c_bytes"}) {
    INFO(name);
    const std::string svg = read_file(plots + "/" + name + ".svg");
    CHECK(contains(svg, "<svg"));
    CHECK(contains(svg, queries.json()["environment"]["date"]));
    CHECK(read_file(plots + "/" + name + ".png").starts_with("\x89PNG"));
  }
  CHECK(contains(read_file(plots + "/q_latency_1.svg"), "maxscore"));
  const std::string wrong = indexes.folder.write("w.json", "{}") + " 2> " + indexes.folder.path("complaint");
  CHECK(std::system((plot + wrong).c_str()) != 0);
  CHECK(contains(read_file(indexes.folder.path("complaint")), "plot: error: "));
}

TEST_CASE("benchmarks have help texts with examples", "[cli][measure][help]") {
  for (const char* what : {"query", "codec"}) {
    const RunOutcome help = run_quern({"bench", what, "--help"});
    CHECK(help.exit_status == 0);
    CHECK(contains(help.out, std::string("quern bench ") + what));
    CHECK(contains(help.out, "Examples"));
  }
}

TEST_CASE("bench query refuses set-ups that it can't measure", "[cli][measure]") {
  const SampleIndexes indexes;
  const auto run = [&](const CommandLine& options, const std::string& input = "1:water\n") {
    CommandLine arguments = {"bench", "query", indexes.newpfd, "-q", "-"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_quern(arguments, {input, {}, {}, {}, 0, {}});
  };
  CHECK(run({"-k", "0"}).exit_status == 2);
  CHECK(run({"-k", "10,0"}).exit_status == 2);
  CHECK(run({"--repeats", "0"}).exit_status == 2);
  CHECK(run({"--queries-limit", "0"}).exit_status == 2);
  const RunOutcome unknown = run({"-a", "or,guess"});
  CHECK(unknown.exit_status == 2);
  CHECK(contains(unknown.err, "maxscore"));
  CHECK(run_quern({"bench", "query", indexes.newpfd}).exit_status == 2);
  CHECK(run_quern({"bench", "query", "-q", "-"}).exit_status == 2);
  for (const char* input : {"", "\n", "1:nowheretobefound\n"}) {
    INFO("\"" << input << "\"");
    const RunOutcome outcome = run({}, input);
    CHECK(outcome.exit_status == 1);
    CHECK(outcome.out.find("maxscore") == std::string::npos);
    CHECK(contains(outcome.err, "quern: error: "));
  }
  CHECK(run_quern({"bench", "query", indexes.folder.path("none"), "-q", sample_folder + "/topics.txt"}).exit_status ==
        1);
}

TEST_CASE("bench order measures all orders, or the named ones", "[cli][order][measure]") {
  const TemporaryFolder folder;
  const std::string collection = folder.path("collection");
  REQUIRE(run_quern({"parse", sample_folder + "/corpus", "-o", collection}).exit_status == 0);
  const RunOutcome all = run_quern({"bench", "order", collection, "--json", "--quiet"});
  INFO(all.err);
  REQUIRE(all.exit_status == 0);
  const auto json = all.json();
  CHECK(json["bench"] == "order");
  check_environment(json["environment"], "bench order");
  CHECK(json["block_size"] == 128);
  REQUIRE(json["orders"].size() >= 4);
  double random = 0, bisection = 0;
  for (const auto& order : json["orders"]) {
    CHECK(order["seconds"] >= 0);
    CHECK((order["peak_bytes"].is_null() || order["peak_bytes"] > 0));
    CHECK(order["gap_entropy_bits_per_posting"] > 0);
    REQUIRE(order["codecs"].size() >= 3);
    for (const auto& codec : order["codecs"])
      for (const char* bits : {"docid_bits_per_posting", "freq_bits_per_posting", "directory_bits_per_posting"})
        CHECK(codec[bits] > 0);
    if (order["by"] == "random") random = order["codecs"][0]["docid_bits_per_posting"];
    if (order["by"] == "bisection") bisection = order["codecs"][0]["docid_bits_per_posting"];
  }
  CHECK(bisection < random);

  const RunOutcome two = run_quern({"bench", "order", "--by", "url,random", collection, "--block-size", "64"});
  REQUIRE(two.exit_status == 0);
  CHECK(contains(two.out, "\nurl "));
  CHECK(contains(two.out, "\nrandom "));
  CHECK_FALSE(contains(two.out, "natural"));
}

TEST_CASE("order writes one order to an output", "[cli][order]") {
  const TemporaryFolder folder;
  const std::string collection = folder.path("collection"), out = folder.path("order");
  REQUIRE(run_quern({"parse", sample_folder + "/corpus", "-o", collection}).exit_status == 0);
  for (const CommandLine& more :
       {CommandLine{}, CommandLine{"--by", "url,natural", "-o", out}, CommandLine{"--by", "best", "-o", out},
        CommandLine{"--block-size", "64", "-o", out}}) {
    CommandLine arguments = {"order", collection};
    arguments.insert(arguments.end(), more.begin(), more.end());
    CHECK(run_quern(arguments).exit_status == 2);
  }
  CHECK(names_in(folder.path("")) == CommandLine{"collection"});
}

}  // namespace quern
