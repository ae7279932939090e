#include <algorithm>

#include "quern/search/intersect.hpp"

#include "catch.hpp"
#include "cli/mill_index.hpp"
#include "cli/small_corpus.hpp"

/// Intersections from the shell.
namespace quern {
namespace {

using namespace testing;
using Arguments = testing::CommandLine;

}  // namespace

TEST_CASE("intersect prints documents, counts or JSON by any method", "[cli][intersect]") {
  const MillIndex mill;
  for (const IntersectionMethod& method : all_intersection_methods()) {
    INFO(method.name);
    const Arguments by = {"--method", std::string(method.name), "--query"};
    const auto ask = [&](const std::string& query, const Arguments& options = {}) {
      Arguments all = by;
      all.push_back(query);
      all.insert(all.end(), options.begin(), options.end());
      return mill.intersect(all);
    };
    CHECK(ask("mill").out == "1\t0\tM-2\n1\t3\tM-1\n");
    CHECK(ask("Mill mill wheel!").out == "1\t3\tM-1\n");
    CHECK(ask("mill stone").out.empty());
    CHECK(ask("mill nowhere").out.empty());
    const RunOutcome nothing = ask("");
    CHECK(nothing.exit_status == 0);
    CHECK(nothing.out.empty());
    CHECK(ask("mill", {"--count"}).out == "1\t2\n");
    CHECK(ask("nowhere", {"--count"}).out == "1\t0\n");
    const auto json = ask("mill wheel", {"--json"}).json();
    CHECK(json ==
          nlohmann::json{
              {"id", "1"}, {"query", "mill wheel"}, {"count", 1}, {"results", {{{"docid", 3}, {"docno", "M-1"}}}}});
    CHECK(ask("nowhere", {"--json", "--count"}).json() ==
          nlohmann::json{{"id", "1"}, {"query", "nowhere"}, {"count", 0}});
  }
}

TEST_CASE("intersect finds as many documents as ranked AND, for a whole file of queries", "[cli][intersect]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), topics = sample_folder + "/topics.txt";
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index, "--block-size", "64"}).exit_status == 0);
  const RunOutcome ranked = run_quern({"query", index, "-q", topics, "-a", "and", "-k", "100000"});
  const std::string stats = folder.path("stats.json"), out = folder.path("found");
  const RunOutcome found =
      run_quern({"intersect", index, "-q", topics, "--stats", stats, "-o", out, "--method", "stride", "-j", "2"});
  REQUIRE(found.exit_status == 0);
  CHECK(found.out.empty());
  CHECK(contains(found.err, "queries, "));
  const Arguments documents = lines_of(read_file(out));
  CHECK(documents.size() == lines_of(ranked.out).size());
  CHECK_FALSE(documents.empty());
  const auto json = nlohmann::json::parse(read_file(stats));
  CHECK(json["results"] == documents.size());
  CHECK(json["method"] == "stride");
  CHECK(json["segment"].get<unsigned>() == IntersectionOptions().segment);
  CHECK(json["threads"] == 2);
  CHECK(json["blocks_decoded"] <= json["blocks"]);
  CHECK(json["postings"] > json["results"]);
  for (const char* key : {"mean_us", "mean_decode_us", "mean_thin_out_us", "p99_us", "queries_per_second"})
    CHECK(json[key].get<double>() > 0);
  CHECK(run_quern({"intersect", index, "-q", topics, "-o", out}).exit_status == 1);  // exists already
}

TEST_CASE("bench intersect has a row for each method and each segment length", "[cli][intersect][measure]") {
  const MillIndex mill;
  const std::string queries = mill.folder.write("queries", "1:wheel mill\n2:mill\n");
  const auto bench = [&](const Arguments& options) {
    Arguments all = {"bench", "intersect", mill.index, "-q", queries, "--repeats", "2", "--quiet"};
    all.insert(all.end(), options.begin(), options.end());
    return run_quern(all);
  };
  const auto json = bench({"--segment", "2,8", "--json"}).json();
  CHECK(json["bench"] == "intersect");
  CHECK(json["environment"]["processor"].is_string());
  CHECK(json["index"]["codec"] == "maskpfd");
  CHECK(json["postings"] == 5);
  REQUIRE(json["results"].size() == all_intersection_methods().size() + 1);
  for (const auto& row : json["results"]) {
    CHECK(row["queries"] == 2);
    CHECK(row["results"] == 3);
    CHECK(row["mean_us"] > 0);
    CHECK(row["effective_postings_per_second"] > 0);
    CHECK(row.contains("segment") == (row["method"] == "stride"));
  }
  const Arguments lines = lines_of(bench({"--method", "stride,merge"}).out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[3].starts_with("stride of "));
  CHECK(lines[4].starts_with("merge "));
  CHECK(bench({"--method", "hash"}).exit_status == 2);
}

TEST_CASE("intersections run on the CPU without a GPU, unless a GPU is required", "[cli][intersect]") {
  const MillIndex mill;
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  const auto ask = [&](const Arguments& options) {
    Arguments all = {"intersect", mill.index, "--query", "mill"};
    all.insert(all.end(), options.begin(), options.end());
    return run_quern(all, no_gpu);
  };
  const std::string documents = "1\t0\tM-2\n1\t3\tM-1\n";
  for (const std::string method : {"adaptive", "merge-find", "block-skipping", "stride"}) {
    const RunOutcome on_any = ask({"--device", "auto", "--method", method, "--gpu-options", "levels=2,bucketing=off"});
    CHECK(on_any.exit_status == 0);
    CHECK(on_any.out == documents);
    CHECK(contains(on_any.err, "queries run on the CPU"));
  }
  const RunOutcome on_gpu = ask({"--device", "gpu"});
  CHECK(on_gpu.exit_status == 1);
  CHECK(on_gpu.out.empty());
  CHECK(contains(on_gpu.err, "--device cpu"));
  CHECK(contains(ask({"--method", "merge-find"}).err, "--method merge-find needs --device gpu"));
  CHECK(ask({"--gpu-options", "levels=5"}).exit_status == 2);
  for (const std::string gpus : {"1", "2", "all"}) {
    const RunOutcome on_any = ask({"--device", "auto", "--gpus", gpus});
    CHECK(on_any.exit_status == 0);
    CHECK(on_any.out == documents);
  }
  CHECK(ask({"--gpus", "some"}).exit_status == 2);
  CHECK(ask({"--gpu-options", "bucketing=perhaps"}).exit_status == 2);
}

TEST_CASE("GPU benchmarks of intersections fail without a GPU, and say so", "[cli][intersect][measure]") {
  const MillIndex mill;
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  no_gpu.input = "mill";
  const RunOutcome intersect = run_quern({"bench", "gpu-intersect", mill.index, "-q", "-"}, no_gpu);
  CHECK(intersect.exit_status == 1);
  CHECK(contains(intersect.err, "CUDA"));
  CHECK(run_quern({"bench", "gpu-decode", "--lookups", "100"}, no_gpu).exit_status == 1);
  CHECK(run_quern({"bench", "gpu-intersect", mill.index, "-q", "-", "--transfer", "none"}).exit_status == 2);
}

}  // namespace quern
