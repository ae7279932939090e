#include <algorithm>
#include <set>

#include "quern/core/random.hpp"
#include "quern/search/point_search.hpp"

#include "catch.hpp"
#include "search/small_blocks.hpp"

/// Queries with many k1 and b at once, against an engine for each of them.
namespace quern {
namespace {

using namespace testing;

std::vector<ScoringPoint> random_points(RandomBits& random, std::size_t count) {
  std::vector<ScoringPoint> points = {{{1.2, 0.75}}, {{0, 0}}, {{0, 1}}, {{1000, 1}}};
  while (points.size() < count)
    points.push_back({{static_cast<double>(random.below(300)) / 100, static_cast<double>(random.below(101)) / 100}});
  points.resize(count);
  return points;
}

/// Some documents, of which about half are among the results.
std::vector<docid_t> random_wanted(RandomBits& random, const std::vector<ScoredDocument>& results,
                                   docid_t num_documents) {
  std::set<docid_t> wanted;
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    wanted.insert(static_cast<docid_t>(random.below(num_documents)));
    if (!results.empty()) wanted.insert(results[random.below(results.size())].docid);
  }
  return {wanted.begin(), wanted.end()};
}

/// Those of the results that score at least as much as the worst of the wanted documents that contain a term.
std::vector<ScoredDocument> up_to_worst(const std::vector<ScoredDocument>& all, std::span<const docid_t> wanted,
                                        std::size_t k) {
  float least = std::numeric_limits<float>::infinity();
  for (const ScoredDocument& document : all)
    if (std::ranges::binary_search(wanted, document.docid)) least = std::min(least, document.score);
  std::vector<ScoredDocument> best;
  for (const ScoredDocument& document : all)
    if (best.size() < k && document.score >= least) best.push_back(document);
  return best;
}

}  // namespace

TEST_CASE("many points at once have the results of each alone", "[query][tune][property]") {
  SmallBlocks small;
  RandomBits random(71);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext&) {
    const IndexReader& index = engine.index();
    const auto queries = draw_queries(random.below(1000), small.model, rounds(60));
    const std::vector<ScoringPoint> points = random_points(random, 1 + random.below(PointSearch::max_points));
    const PointSearch search({&engine}, points);
    std::vector<std::unique_ptr<QueryEngine>> engines;
    for (const ScoringPoint& point : points)
      engines.push_back(std::make_unique<QueryEngine>(index, ScoringOptions{point.bm25}));
    for (const auto& words : queries) {
      INFO(text_of(words));
      const std::size_t k = std::array<std::size_t, 4>{1, 10, 100, 5000}[random.below(4)];
      const QueryTerms terms = query_of(words);
      const QueryAlgorithm& algorithm = algorithm_named("or");
      const auto wanted =
          random_wanted(random, engines.front()->search(terms, algorithm, 2 * k), index.num_documents());
      const PointSearch::Results results = search.search(terms, wanted, k);
      REQUIRE(results.best.size() == points.size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const auto all = engines[i]->search(terms, algorithm, index.num_documents());
        CHECK(results.count == std::min(k, all.size()));
        require_same(results.best[i], up_to_worst(all, wanted, k));
      }
    }
  });
}

TEST_CASE("points out of range are refused", "[query][tune]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext&) {
    const auto search = [&](std::size_t count, const ScoringPoint& point) {
      const std::vector<ScoringPoint> points(count, point);
      return PointSearch({&engine}, points);
    };
    CHECK_THROWS_AS(search(0, {}), InvalidArgument);
    CHECK_THROWS_AS(search(PointSearch::max_points + 1, {}), InvalidArgument);
    CHECK_THROWS_AS(search(1, {{-1, 0.5}}), InvalidArgument);
    CHECK_THROWS_AS(search(1, {{1, 1.5}}), InvalidArgument);
    CHECK_THROWS_AS(search(1, {{1, 0.5}, std::nan("")}), InvalidArgument);
    const PointSearch some = search(2, {});
    CHECK_THROWS_AS(some.search({}, {}, 0), InvalidArgument);
  });
}

}  // namespace quern
