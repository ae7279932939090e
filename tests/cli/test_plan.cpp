#include <nlohmann/json.hpp>

#include <sstream>

#include "quern/plan/cache_plan.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/temporary_folder.hpp"

/// Cache plans and their simulation from the shell.
namespace quern {
namespace {

using namespace testing;
using Arguments = testing::CommandLine;

struct ScoredSample {
  TemporaryFolder folder;
  std::string index = folder.path("index"), log = sample_folder + "/query_log.txt";

  explicit ScoredSample(const Arguments& options = {"--order", "score"}) {
    Arguments arguments = {"index", sample_folder + "/corpus", "-o", index};
    arguments.insert(arguments.end(), options.begin(), options.end());
    REQUIRE(run_quern(arguments).exit_status == 0);
  }
  RunOutcome plan(const std::string& name, const Arguments& options) const {
    Arguments arguments = {"plan", index, "-q", log, "-o", folder.path(name), "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_quern(arguments);
  }
  RunOutcome simulate(const Arguments& options) const {
    Arguments arguments = {"simulate", "cache", index, "-q", log};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_quern(arguments);
  }
  /// The figures of a plan.
  nlohmann::json simulated(const std::string& name, const Arguments& options = {}) const {
    Arguments arguments = {"--plan", folder.path(name), "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return simulate(arguments).json()["results"][0];
  }
};

}  // namespace

TEST_CASE("a plan stays within its budget, is reproducible, and can be verified and simulated", "[cli][cache]") {
  const ScoredSample pages;
  for (const CachePolicy& policy : all_cache_policies()) {
    INFO(policy.name);
    const std::string name(policy.name);
    const RunOutcome made = pages.plan(name, {"--policy", name, "--budget", "20%"});
    REQUIRE(made.exit_status == 0);
    const auto json = made.json();
    const auto budget = json["budget_bytes"].get<std::uint64_t>(), cached = json["cached_bytes"].get<std::uint64_t>();
    CHECK(cached <= budget);
    CHECK(cached > budget / 2);
    CHECK(json["queries"] == 2000);
    CHECK(json["cached_lists"].get<int>() > 0);
    CHECK(json["cached_blocks"].get<int>() >= json["cached_lists"].get<int>());
    REQUIRE(pages.plan(name + "2", {"--policy", name, "--budget", std::to_string(budget), "-j", "1"}).exit_status == 0);
    CHECK(read_file(pages.folder.path(name)) == read_file(pages.folder.path(name + "2")));
    CHECK(run_quern({"verify", pages.folder.path(name)}).exit_status == 0);
    const RunOutcome outcome = pages.simulate({"--plan", pages.folder.path(name), "--json"});
    REQUIRE(outcome.exit_status == 0);
    const auto simulated = outcome.json();
    CHECK(simulated["bench"] == "cache");  // what scripts/plot reads
    CHECK(simulated["idf"] == "lucene");
    REQUIRE(simulated["results"].size() == 1);
    CHECK(simulated["results"][0]["hit_rate"].get<double>() > 0);
    // A sweep with the same settings gives the same figures.
    const RunOutcome swept = pages.simulate({"--train", pages.log, "--policy", name, "--budget", "20%", "--json"});
    REQUIRE(swept.exit_status == 0);
    CHECK(swept.json()["results"] == simulated["results"]);
  }
}

TEST_CASE("a budget of everything caches everything, and no budget nothing", "[cli][cache]") {
  const ScoredSample pages;
  const RunOutcome all = pages.plan("all", {"--budget", "100%"});
  REQUIRE(all.exit_status == 0);
  CHECK(all.json()["cached_bytes"] < all.json()["index_bytes"]);  // lists of one block are not kept
  CHECK(contains(all.err, "holds all lists that are longer than a block"));
  const auto served = pages.simulated("all");
  CHECK(served["hit_rate"] == 1);
  CHECK(served["block_hit_rate"] == 1);
  CHECK(served["served_queries"] == served["queries"]);
  CHECK(served["post_processed_queries"] == 0);
  CHECK(served["transfer_bytes_per_query"] == 0);
  REQUIRE(pages.plan("none", {"--budget", "0"}).json()["cached_lists"] == 0);
  const auto moved = pages.simulated("none");
  CHECK(moved["hit_rate"] == 0);
  CHECK(moved["transfer_bytes_per_query"].get<double>() > 0);
}

TEST_CASE("an index in another order can be planned for, with a warning", "[cli][cache]") {
  const ScoredSample pages({"--order", "url"});
  const RunOutcome made = pages.plan("plan", {"--budget", "10%"});
  REQUIRE(made.exit_status == 0);
  CHECK(made.err.find("early termination is off") != std::string::npos);
  CHECK(made.json()["early_termination"] == false);
}

TEST_CASE("the round of a plan is at least a block of the index", "[cli][cache][plan]") {
  const ScoredSample pages({"--order", "score", "--block-size", "512"});
  const RunOutcome made = pages.plan("plan", {"--budget", "50%"});
  INFO(made.err);
  REQUIRE(made.exit_status == 0);
  CHECK(made.json()["round"] == 512);
  CHECK(made.json()["block"] == 512);
  CHECK(pages.simulate({"--train", pages.log, "--budget", "50%"}).exit_status == 0);
}

TEST_CASE("a plan records its IDF, scores and log, and contains the lists that the scores need", "[cli][cache][plan]") {
  const ScoredSample pages({"--quantize", "8"});
  const RunOutcome exact = pages.plan("exact", {"--budget", "50%"}),
                   robertson = pages.plan("robertson", {"--budget", "50%", "--idf", "robertson"}),
                   quantized = pages.plan("quantized", {"--budget", "50%", "--scores", "quantized"});
  REQUIRE(exact.exit_status == 0);
  REQUIRE(robertson.exit_status == 0);
  REQUIRE(quantized.exit_status == 0);
  CHECK(exact.json()["idf"] == "lucene");
  CHECK(robertson.json()["idf"] == "robertson");
  CHECK(exact.json()["scores"] == "exact");
  CHECK(quantized.json()["scores"] == "quantized");
  const auto sections = run_quern({"inspect", pages.index, "--json"}).json()["sections"];
  const auto words = sections["postings"].get<std::uint64_t>();
  CHECK(exact.json()["index_bytes"] == words);
  CHECK(quantized.json()["index_bytes"] == words + sections["impacts"].get<std::uint64_t>());
  CHECK(pages.simulate({"--plan", pages.folder.path("quantized")}).exit_status == 0);
  CHECK(pages.plan("none", {"--budget", "50%", "--scores", "quantized", "--idf", "robertson"}).exit_status == 1);

  // The hash covers the queries, whatever the log's format.
  std::string copy;
  std::istringstream log(read_file(pages.log));
  for (std::string line; std::getline(log, line);) copy += line.substr(line.find(':') + 1) + "\n";
  const std::string same = pages.folder.write("same", copy), other = pages.folder.write("other", copy + "mill\n");
  const auto hash_with = [&](const std::string& path) {
    return run_quern({"plan", pages.index, "-q", path, "--queries-format", "lines", "--budget", "50%", "-o",
                      pages.folder.path("again"), "--force", "--json"})
        .json()["log_hash"];
  };
  CHECK(hash_with(same) == exact.json()["log_hash"]);
  CHECK(hash_with(other) != exact.json()["log_hash"]);
}

TEST_CASE("a plan fills the GPU memory that the engine leaves free", "[cli][cache][plan]") {
  const ScoredSample pages;
  const RunOutcome share = pages.plan("share", {"--gpu-memory", "30%"});
  CHECK(share.exit_status == 1);  // of a small index, less than queries need
  CHECK(contains(share.err, "queries on a GPU need at least"));
  const RunOutcome many = pages.plan("many", {"--gpu-memory", "100000%"});
  REQUIRE(many.exit_status == 0);
  CHECK(contains(many.err, "the whole index fits in 100000%"));
  const auto lists = many.json()["index_bytes"].get<double>();
  const RunOutcome all = pages.plan("all", {"--gpu-memory", "64M"});
  REQUIRE(all.exit_status == 0);
  CHECK(contains(all.err, "the whole index fits in 64M"));
  CHECK(all.json()["budget_bytes"].get<double>() == lists);
  const RunOutcome little = pages.plan("little", {"--gpu-memory", "1M"});
  CHECK(little.exit_status == 1);
  CHECK(contains(little.err, "raise --gpu-memory"));
  CHECK(pages.plan("p", {"--gpu-memory", "30%", "--budget", "30%"}).exit_status == 2);
  CHECK(pages.plan("p", {"--budget", "30%", "--list-buffer", "1M"}).exit_status == 2);
  const RunOutcome buffered = pages.plan("buffered", {"--gpu-memory", "6M", "--list-buffer", "3M"});
  CHECK(buffered.exit_status == 0);  // the whole index fits, without buffers
  CHECK(contains(pages.plan("p", {"--gpu-memory", "1M", "--list-buffer", "1G"}).err, "which holds the whole index"));
  CHECK(pages.plan("p", {}).exit_status == 2);
  CHECK(pages.plan("p", {"--gpu-memory", "much"}).exit_status == 2);
}

TEST_CASE("an index without lists of more than a block has an empty plan", "[cli][cache][plan]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", "{\"docno\": \"a\", \"contents\": \"water mill\"}\n");
  REQUIRE(run_quern({"index", corpus, "-o", folder.path("index")}).exit_status == 0);
  const std::string log = folder.write("log", "water mill\n");
  const RunOutcome made =
      run_quern({"plan", folder.path("index"), "-q", log, "--budget", "20%", "-o", folder.path("plan"), "--json"});
  REQUIRE(made.exit_status == 0);
  CHECK(made.json()["cached_lists"] == 0);
  CHECK(contains(made.err, "no list is longer than a block"));
}

TEST_CASE("bad logs, budgets and lambdas are refused with different messages", "[cli][cache]") {
  const ScoredSample pages;
  CHECK(pages.plan("p", {"--budget", "half"}).exit_status == 2);
  CHECK(pages.plan("p", {"--budget", "-5%"}).exit_status == 2);
  const RunOutcome tiny = pages.plan("p", {"--budget", "20"});
  CHECK(tiny.exit_status == 1);
  CHECK(contains(tiny.err, "a share such as 20%"));
  CHECK(pages.plan("p", {"--budget", "1M", "--max-admission", "1.5"}).exit_status == 2);
  CHECK(pages.plan("p", {"--budget", "1M", "--max-admission", "0"}).exit_status == 2);
  CHECK(pages.plan("p", {"--budget", "1M", "--block", "100"}).exit_status == 1);
  CHECK(pages.plan("p", {"--budget", "1M", "--round", "100"}).exit_status == 1);
  const std::string unknown = pages.folder.write("unknown", "1:zzz\n2:yyy xxx\n");
  const RunOutcome none =
      run_quern({"plan", pages.index, "-q", unknown, "--budget", "1M", "-o", pages.folder.path("p")});
  CHECK(none.exit_status == 1);
  CHECK(none.err.find("no query of the log has results") != std::string::npos);
  const std::string empty = pages.folder.write("empty", "");
  CHECK(run_quern({"plan", pages.index, "-q", empty, "--budget", "1M", "-o", pages.folder.path("p")}).exit_status == 1);
  CHECK(pages.simulate({}).exit_status == 2);
  CHECK(pages.simulate({"--train", pages.log, "--plan", "x"}).exit_status == 2);
  for (const Arguments& own : {Arguments{"--budget", "5%"}, {"--policy", "qtf"}, {"-k", "5"}, {"--round", "512"}}) {
    const RunOutcome refused = pages.simulate({"--plan", "x", own.front(), own.back()});
    CHECK(refused.exit_status == 2);
    CHECK(contains(refused.err, "--plan can't be combined with " + own.front()));
  }
}

TEST_CASE("a sweep is printed as a table, as CSV and as JSON", "[cli][cache]") {
  const ScoredSample pages;
  const Arguments sweep = {"--train", pages.log, "--budget", "5%,50%", "--max-admission", "0.5,1", "-k", "1,10"};
  const auto with = [&](const Arguments& more) {
    Arguments all = sweep;
    all.insert(all.end(), more.begin(), more.end());
    return pages.simulate(all);
  };
  const std::size_t rows = all_cache_policies().size() * 2 * 2 * 2;
  const auto lines = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  CHECK(lines(with({}).out) == rows + 1);
  const RunOutcome csv = with({"--csv"});
  CHECK(lines(csv.out) == rows + 1);
  CHECK(csv.out.starts_with("policy,budget_bytes,"));
  CHECK(with({"--json"}).json()["results"].size() == rows);
}

TEST_CASE("a link's speed determines the transfer time of a simulated cache", "[cli][cache]") {
  const ScoredSample pages;
  REQUIRE(pages.plan("plan", {"--budget", "5%"}).exit_status == 0);
  const auto with = [&](const Arguments& more) {
    Arguments all = {"--plan", pages.folder.path("plan"), "--batch", "32"};
    all.insert(all.end(), more.begin(), more.end());
    return pages.simulate(all);
  };
  const auto plain = pages.simulated("plan", {"--batch", "32"});
  const auto linked = pages.simulated("plan", {"--batch", "32", "--link", "0.5"});
  const auto per_batch = plain["transfer_bytes_per_batch"].get<double>(), batches = plain["batches"].get<double>();
  REQUIRE(per_batch > 0);
  CHECK_FALSE(plain.contains("transfer_us_per_batch"));
  CHECK(linked["link_gb_per_second"] == 0.5);
  CHECK(linked["transfer_us_per_batch"].get<double>() == Approx(per_batch / 500));
  CHECK(linked["most_queries_per_second"].get<double>() ==
        Approx(plain["queries"].get<double>() / (per_batch * batches / 0.5e9)));
  CHECK(linked["transfer_bytes_per_batch"] == plain["transfer_bytes_per_batch"]);
  CHECK(contains(with({"--link", "0.5"}).out, "most queries/s"));
  CHECK_FALSE(contains(with({}).out, "most queries/s"));
  CHECK(contains(with({"--link", "0.5", "--csv"}).out, ",most_queries_per_second\n"));
  for (const char* wrong : {"0", "-1", "fast", "inf"}) CHECK(with({"--link", wrong}).exit_status == 2);
  // Nothing to transfer: no limit.
  REQUIRE(pages.plan("all", {"--budget", "100%"}).exit_status == 0);
  const auto none = pages.simulated("all", {"--link", "1"});
  CHECK(none["transfer_us_per_batch"] == 0);
  CHECK(none["most_queries_per_second"].is_null());
}

TEST_CASE("the best split of memory is computed from measured points", "[cli][cache]") {
  const TemporaryFolder folder;
  const std::string points = folder.write("points.csv",
                                          "function,x,y\nc,1,210\nc,10,30\nc,100,12\nc,10000,10.02\nt,1e5,0.00021\n"
                                          "t,1e7,0.000012\nt,1e9,0.00001\ndq,0,4e6\ndq,4e9,0\n");
  const std::string marked = folder.write("marked.csv", "\xef\xbb\xbf" + read_file(points));
  const RunOutcome free = run_quern({"simulate", "throughput", marked, "--memory", "4G", "--json"});
  REQUIRE(free.exit_status == 0);
  CHECK(free.json()["best"]["queries_per_second"].get<double>() > 50000);
  CHECK_FALSE(free.json()["c"]["poor"].get<bool>());
  const RunOutcome limited = run_quern({"simulate", "throughput", points, "--memory", "1G", "--limit", "5", "--json"});
  REQUIRE(limited.exit_status == 0);
  CHECK(limited.json()["best"]["response_us"].get<double>() <= 5000);
  const auto split = [&](const std::string& link) {
    return run_quern({"simulate", "throughput", points, "--memory", "1G", "--link", link, "--json"}).json();
  };
  CHECK(split("100")["t"]["base"].get<double>() == Approx(1e-5));
  CHECK(split("100")["link_gb_per_second"] == 100);
  CHECK(split("400")["best"]["queries_per_second"] > split("50")["best"]["queries_per_second"]);
  CHECK(run_quern({"simulate", "throughput", points, "--memory", "1G"}).out.find("best") != std::string::npos);
  CHECK(run_quern({"simulate", "throughput", points, "--memory", "1M", "--limit", "0.001"}).exit_status == 1);
  CHECK(run_quern({"simulate", "throughput", points, "--memory", "1G", "--overlap"}).err.find("no points of c_host") !=
        std::string::npos);
  const std::string stages = folder.write("stages.csv", read_file(points) + "c_host,1,100\nc_gpu,1,100\n");
  const RunOutcome overlapped = run_quern({"simulate", "throughput", stages, "--memory", "4G", "--overlap", "--json"});
  REQUIRE(overlapped.exit_status == 0);
  CHECK(overlapped.json()["overlap"] == true);
  const std::string poor = folder.write("poor.csv", "c,1,1\nc,10,100\nc,100,1\nt,1,1\ndq,0,1\n");
  CHECK(run_quern({"simulate", "throughput", poor, "--memory", "1G"}).err.find("fits poorly") != std::string::npos);
  const std::string bad = folder.write("bad.csv", "c,1,1\nt,x,1\n");
  CHECK(run_quern({"simulate", "throughput", bad, "--memory", "1G"}).err.find("line 2") != std::string::npos);
  const std::string none = folder.write("none.csv", "t,1,1\n");
  CHECK(run_quern({"simulate", "throughput", none, "--memory", "1G"}).err.find(none + ": no points of c") !=
        std::string::npos);
}

}  // namespace quern
