#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "quern/core/error.hpp"
#include "quern/eval/run_fusion.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/page_example.hpp"

namespace quern {
namespace {

struct Fused {
  std::string run;
  FusionReport report;
};

Fused fuse_texts(const std::vector<std::string>& runs, const FusionOptions& options = {},
                 std::uint64_t memory_bytes = 64 << 20) {
  const testing::TemporaryFolder folder;
  Resources resources;
  resources.tmp_folder = folder.path("");
  resources.memory_bytes = memory_bytes;
  std::vector<std::string> paths;
  for (const std::string& run : runs) paths.push_back(folder.write("run" + std::to_string(paths.size() + 1), run));
  Fused fused;
  fused.report = fuse_runs(paths, options, resources, [&](std::string_view text) { fused.run += text; });
  return fused;
}

FusionOptions with_method(FusionMethod method) {
  FusionOptions options;
  options.method = method;
  return options;
}

/// A run: each query's scores by docno.
using Run = std::map<std::string, std::map<std::string, double>>;

/// The page's formulas, each document anew: its rank is counted, its score is added up run by run.
std::string fused_by_definition(const std::vector<Run>& runs, const FusionOptions& options) {
  Run all;
  for (const Run& run : runs)
    for (const auto& [qid, scores] : run)
      for (const auto& [docno, score] : scores) all[qid][docno] = 0;
  std::string text;
  for (auto& [qid, documents] : all) {
    std::vector<std::pair<double, std::string>> ranked;
    for (auto& [docno, sum] : documents) {
      double count = 0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].contains(qid) || !runs[i].at(qid).contains(docno)) continue;
        const auto& scores = runs[i].at(qid);
        const double score = scores.at(docno);
        double rank = 1, lowest = score, highest = score;
        for (const auto& [other, value] : scores) {
          rank += value > score || (value == score && other > docno);
          lowest = std::min(lowest, value);
          highest = std::max(highest, value);
        }
        double x = score;
        if (options.method == FusionMethod::rrf)
          x = 1.0 / (options.rank_constant + rank);
        else if (options.normalization == ScoreNormalization::min_max)
          x = highest == lowest ? 0 : (score - lowest) / (highest - lowest);
        sum += (options.weights.empty() ? 1 : options.weights[i]) * x;
        ++count;
      }
      if (options.method == FusionMethod::combmnz) sum *= count;
      ranked.emplace_back(sum, docno);
    }
    std::sort(ranked.rbegin(), ranked.rend());
    for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), options.k); ++i)
      text += fmt::format("{} Q0 {} {} {} {}\n", qid, ranked[i].second, i + 1, ranked[i].first, options.tag);
  }
  return text;
}

/// Runs with ties, negative scores, queries and documents that others lack.
std::vector<Run> random_runs(std::mt19937& random) {
  std::vector<Run> runs(2 + random() % 3);
  for (Run& run : runs)
    for (int query = 0; query < 8; ++query)
      for (std::uint32_t i = random() % 25; i > 0; --i)
        run["q" + std::to_string(query)]["d" + std::to_string(random() % 30)] =
            static_cast<double>(random() % 12) / 7 - 0.5;
  return runs;
}

std::vector<std::string> lines_in_any_order(const Run& run, std::mt19937& random) {
  std::vector<std::string> lines;
  for (const auto& [qid, scores] : run)
    for (const auto& [docno, score] : scores)
      lines.push_back(fmt::format("{} Q0 {} {} {} tag\n", qid, docno, random() % 9, score));
  std::shuffle(lines.begin(), lines.end(), random);
  return lines;
}

}  // namespace

TEST_CASE("The worked example of fusion.md has the scores on the page", "[evaluation][format]") {
  const auto block = [](const char* name) { return testing::page_block("queries/fusion.md", name); };
  const Fused fused = fuse_texts({block("a"), block("b")});
  CHECK(fused.run == block("rrf"));
  CHECK((fused.report.queries == 2 && fused.report.results_read == 7 && fused.report.results == 5));
  CHECK(fused.report.queries_of_runs == std::vector<std::uint64_t>{2, 1});
  CHECK(fuse_texts({block("a"), block("b")}, with_method(FusionMethod::combmnz)).run == block("combmnz"));
}

TEST_CASE("Fused runs have the scores of the formulas, bit for bit", "[evaluation][property]") {
  std::mt19937 random(17);
  for (int round = 0; round < 150; ++round) {
    const std::vector<Run> runs = random_runs(random);
    FusionOptions options;
    options.method = fusion_methods[random() % 3].value;
    options.normalization = score_normalizations[random() % 2].value;
    if (random() % 2 == 0) options.rank_constant = random() % 100;
    if (random() % 2 == 0)
      for (std::size_t i = 0; i < runs.size(); ++i) options.weights.push_back(static_cast<double>(random() % 10) / 9);
    if (random() % 2 == 0) options.k = 1 + random() % 20;
    std::vector<std::string> texts;
    for (const Run& run : runs) {
      std::string& text = texts.emplace_back();
      for (const std::string& line : lines_in_any_order(run, random)) text += line;
    }
    INFO("round " << round);
    CHECK(fuse_texts(texts, options, round % 2 == 0 ? 64 << 20 : 1 << 20).run == fused_by_definition(runs, options));
  }
}

TEST_CASE("Runs of MS MARCO are fused by their ranks", "[evaluation]") {
  CHECK(fuse_texts({"1\ta\t2\n1\tb\t1\n", "1 Q0 c 1 5 t\n"}).run ==
        fuse_texts({"1 Q0 a 2 1 t\n1 Q0 b 1 2 t\n", "1\tc\t7\n"}).run);
}

TEST_CASE("Runs that can't be fused are refused with the line", "[evaluation]") {
  using Catch::Contains;
  const std::string good = "1 Q0 a 1 5 t\n";
  const FusionOptions sum = with_method(FusionMethod::combsum), rrf;
  FusionOptions huge = sum;
  huge.normalization = ScoreNormalization::none;
  CHECK_THROWS_WITH(fuse_texts({good, good + "1 Q0 b 2 4 t\n1 Q0 a 3 1 t\n"}, rrf),
                    Contains("run2, line 3: query 1 has document a already in line 1; remove one"));
  CHECK_THROWS_WITH(fuse_texts({good, "1 Q0 a 1 nan t\n"}, rrf), Contains("run2, line 1: the score is not a number"));
  CHECK_THROWS_WITH(fuse_texts({good, "1 Q0 a 1 inf t\n"}, sum), Contains("run2, line 1: the score is infinite"));
  CHECK_NOTHROW(fuse_texts({good, "1 Q0 a 1 inf t\n"}, rrf));
  CHECK_THROWS_WITH(fuse_texts({good, "1 a 1\n"}, sum), Contains("run2, line 1: the run has ranks without scores"));
  CHECK_THROWS_WITH(fuse_texts({good, std::string("1 Q0 a\0b 1 1 t\n", 15)}, rrf), Contains("zero byte"));
  CHECK_THROWS_WITH(fuse_texts({good, "1 0 a 1\n"}, rrf), Contains("run2, line 1: is not"));
  CHECK_THROWS_WITH(fuse_texts({"1 Q0 a 1 1e308 t\n", "1 Q0 a 1 1e308 t\n"}, huge), Contains("too large"));
  CHECK_THROWS_WITH(fuse_texts({"1 Q0 a 1 1.5e308 t\n1 Q0 b 1 -1.5e308 t\n"}, sum), Contains("too large"));
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += fmt::format("1 Q0 d{} 1 {} t\n", i, i % 7);
  CHECK_NOTHROW(fuse_texts({many, good}, rrf, 16 << 20));
  CHECK_THROWS_WITH(fuse_texts({many, good}, rrf, 1 << 20), Contains(option_name<"memory">));
  CHECK(fuse_texts({"", ""}).run.empty());
}

}  // namespace quern
