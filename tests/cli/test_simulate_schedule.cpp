#include <cstdlib>
#include <fstream>
#include <map>

#include "quern/formats/tables/query_times.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// `quern simulate schedule`, with measured CPU times and made-up GPU times.
namespace quern {
namespace {

using namespace testing;

struct MeasuredTimes {
  TemporaryFolder folder;
  std::string cpu = folder.path("cpu.tsv"), gpu = folder.path("gpu.tsv");

  MeasuredTimes() {
    REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", folder.path("index")}).exit_status == 0);
    REQUIRE(run_quern({"bench", "query", folder.path("index"), "-q", sample_folder + "/topics.txt", "-a", "or", "-k",
                       "10", "--repeats", "1", "--times", cpu, "--quiet"})
                .exit_status == 0);
    QueryTimeTable times = parse_query_times(read_file(cpu), cpu);
    times.gpu = "made up";
    std::vector<QueryTime> rows;
    for (QueryTime row : times.rows) {
      row.device = Processor::gpu;
      row.strategy = "range";
      row.us = 60;
      rows.push_back(row);
      row.batch = 256;
      row.us = 0.5;
      rows.push_back(row);
    }
    times.rows = rows;
    std::ofstream(gpu) << query_times_text(times);
  }
};

}  // namespace

TEST_CASE("simulate schedule compares schedules at rates, and finds the highest ones", "[cli][schedule]") {
  const MeasuredTimes times;
  const RunOutcome outcome = run_quern({"simulate", "schedule", times.cpu, times.gpu, "-a", "or", "--rate", "100,1000",
                                        "--queries", "2000", "--deadline", "5", "--cpu-threads", "2", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  CHECK(json["gpu_batch_us"] == Approx(59.5));
  REQUIRE(json["runs"].size() == 5 * 2);
  REQUIRE(json["highest_rates"].size() == 5);
  for (const auto& row : json["runs"]) {
    CHECK(row["queries"] == 2000);  // the minimum; ten deadlines would give fewer
    CHECK(row["on_cpu"].get<int>() + row["on_gpu"].get<int>() == 2000);
    CHECK(row["p50_us"] <= row["p99_us"]);
    if (row["schedule"] == "cpu") CHECK(row["on_gpu"] == 0);
    if (row["schedule"] == "gpu") CHECK(row["p50_us"] >= 60);
  }
  std::map<std::string, double> rates;
  for (const auto& row : json["highest_rates"]) rates[row["schedule"]] = row["rate"];
  CHECK(rates["gpu"] > 0);
  CHECK(rates["first"] > rates["cpu"]);
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") == 0) {
    const std::string file = times.folder.write("schedule.json", outcome.out);
    CHECK(std::system(("/usr/bin/python3 " + std::string(QUERN_SOURCE_DIR) + "/scripts/plot " + file + " -o " +
                       times.folder.path("plots") + " > /dev/null")
                          .c_str()) == 0);
  }

  // The same seed gives the same figures; predictions change them, if they are for this index.
  const std::vector<std::string> again = {
      "simulate",   "schedule", times.cpu,   times.gpu,    "-a",
      "or",         "--rate",   "1000",      "--schedule", "first,ding,lbd,sd,share,better",
      "--deadline", "0",        "--queries", "500"};
  const RunOutcome first = run_quern(again), second = run_quern(again);
  CHECK(first.exit_status == 0);
  CHECK(first.out == second.out);
  CHECK(contains(first.out, "share"));
  const std::string costs = times.folder.path("costs");
  REQUIRE(run_quern({"bench", "cost", times.cpu, times.gpu, "-o", costs}).exit_status == 0);
  std::vector<std::string> predicted = again;
  predicted.insert(predicted.end(), {"--costs", costs});
  CHECK(run_quern(predicted).exit_status == 0);
}

TEST_CASE("bench stream measures responses, and simulates the same stream", "[cli][schedule]") {
  const MeasuredTimes times;
  const std::vector<std::string> command = {"bench",
                                            "stream",
                                            times.folder.path("index"),
                                            "-q",
                                            sample_folder + "/topics.txt",
                                            "-a",
                                            "or",
                                            "--rate",
                                            "500,2000",
                                            "--seconds",
                                            "0.2",
                                            "--cpu-threads",
                                            "1",
                                            "--times",
                                            times.cpu};
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const RunOutcome outcome = run_quern(as_json);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  REQUIRE(json["streams"].size() == 2);
  for (const auto& row : json["streams"]) {
    CHECK(row["schedule"] == "cpu");
    const auto &measured = row["measured"], &simulated = row["simulated"];
    CHECK(measured["queries"] == static_cast<int>(row["rate"].get<double>() * 0.2));
    CHECK(measured["on_cpu"] == measured["queries"]);
    CHECK(simulated["on_cpu"] == measured["queries"]);
    CHECK(measured["p50_us"] > 0);
    CHECK(simulated["p50_us"] > 0);
    CHECK(row["hand_over_us"] > 0);
    CHECK(measured["gpu_joules_per_query"].is_null());
  }
  CHECK(run_quern(command).exit_status == 0);
  const RunOutcome other_log =
      run_quern({"bench", "stream", times.folder.path("index"), "--query", "mill", "-a", "or", "--times", times.cpu});
  CHECK(other_log.exit_status == 1);
  CHECK(contains(other_log.err, "the times of this log"));
}

TEST_CASE("bench stream sends queries one by one, and refuses options without a use there", "[cli][schedule]") {
  const MeasuredTimes times;
  std::vector<std::string> command = {
      "bench", "stream", times.folder.path("index"), "-q", sample_folder + "/topics.txt", "-a", "and", "--one-by-one"};
  CHECK(contains(run_quern(command).out, "mean us"));
  command.push_back("--json");
  const RunOutcome outcome = run_quern(command);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  REQUIRE(outcome.json()["one_by_one"].size() == 1);
  CHECK(outcome.json()["one_by_one"][0]["mean_us"] > 0);
  for (const char* option : {"--rate", "--seconds", "--deadline"}) {
    std::vector<std::string> with = command;
    with.insert(with.end(), {option, "10"});
    CHECK(run_quern(with).exit_status == 2);
  }
}

TEST_CASE("simulate schedule models the number of batches on a GPU, and the time to hand over a query",
          "[cli][schedule]") {
  const MeasuredTimes times;
  const auto mean_us = [&](const char* rate, const std::string& option, const std::string& value) {
    const RunOutcome outcome =
        run_quern({"simulate", "schedule", times.cpu, times.gpu, "-a", "or", "--schedule", "gpu", "--rate", rate,
                   "--queries", "2000", "--deadline", "0", option, value, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    return outcome.json()["runs"][0]["mean_us"].get<double>();
  };
  CHECK(mean_us("20000", "--gpu-batches", "3") < mean_us("20000", "--gpu-batches", "1"));
  // The rate is so low that each query finds an idle GPU.
  CHECK(mean_us("1", "--hand-over", "1000") == Approx(1000 + mean_us("1", "--hand-over", "0")).epsilon(0.01));
}

TEST_CASE("bench stream and query refuse costs and times of another index or device", "[cli][schedule]") {
  const MeasuredTimes times;
  std::string text = read_file(times.cpu);
  text[text.find('\t') + 1] ^= 1;  // another index
  const std::string costs = times.folder.path("costs"), other = times.folder.path("other.tsv");
  std::ofstream(other) << text;
  REQUIRE(run_quern({"bench", "cost", other, "-o", costs}).exit_status == 0);
  const auto fails = [&](std::vector<std::string> words, const std::vector<std::string>& more, const char* why) {
    words.insert(words.end(), {times.folder.path("index"), "-q", sample_folder + "/topics.txt", "-a", "or"});
    words.insert(words.end(), more.begin(), more.end());
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    CHECK(outcome.exit_status != 0);
    CHECK(contains(outcome.err, why));
  };
  fails({"bench", "stream"}, {"--costs", costs}, "a different index");
  fails({"bench", "stream"}, {"--times", other}, "a different index");
  fails({"query"}, {"--costs", costs}, "--costs needs --device both");
  fails({"query"}, {"--deadline", "10"}, "--deadline needs --device both");
}

TEST_CASE("simulate schedule refuses streams and machines that it can't simulate", "[cli][schedule]") {
  const MeasuredTimes times;
  const auto fails = [&](std::vector<std::string> words, const char* why) {
    words.insert(words.begin(), {"simulate", "schedule"});
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    CHECK(outcome.exit_status != 0);
    CHECK(contains(outcome.err, why));
  };
  fails({times.cpu, "-a", "and"}, "no times for and");
  fails({times.cpu, "-a", "or", "--schedule", "fastest"}, "first");
  fails({times.cpu, "-a", "or", "--rate", "0"}, "--rate");
  fails({times.cpu, "-a", "or", "--schedule", "lbd", "--rate", "10", "--deadline", "0"}, "the machine lacks");
  fails({times.folder.path("index")}, "");
  fails({sample_folder + "/topics.txt"}, "line 1");
  std::string text = read_file(times.cpu);
  text[text.find('\t') + 1] ^= 1;  // another index
  const std::string costs = times.folder.path("costs"), other = times.folder.path("other.tsv");
  std::ofstream(other) << text;
  REQUIRE(run_quern({"bench", "cost", other, "-o", costs}).exit_status == 0);
  fails({times.cpu, "-a", "or", "--costs", costs, "--rate", "10"}, "a different index");
}

}  // namespace quern
