#include <algorithm>

#include "quern/core/simd_level.hpp"
#include "quern/search/list_bitmaps.hpp"

#include "catch.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "search/read_queries.hpp"
#include "search/small_blocks.hpp"

/// Searches with a budget, against all documents' scores.
namespace quern {
namespace {

using namespace testing;

/// A query's documents with a percentage of blocks left out.
struct Limited {
  std::vector<ScoredDocument> found;
  QueryStatistics statistics;
};

Limited search_within(const QueryEngine& engine, QueryView query, const char* algorithm, std::size_t k,
                      const DocumentSet* passing, const SearchBudget& budget) {
  Limited limited;
  limited.found =
      engine.search(query, within_budget(algorithm_named(algorithm), budget), k, &limited.statistics, passing);
  return limited;
}

/// Which of all documents, best first, were found: they are in the same order, with the same scores.
std::vector<bool> found_among(const std::vector<ScoredDocument>& all, const std::vector<ScoredDocument>& found) {
  std::vector<bool> is_found(all.size());
  auto next = found.begin();
  for (std::size_t i = 0; i < all.size() && next != found.end(); ++i)
    if (*next == all[i]) {
      is_found[i] = true;
      ++next;
    }
  REQUIRE(next == found.end());
  return is_found;
}

/// Checks what is known of the k best of all documents; returns how many of them were found.
std::size_t check_outcome(const Limited& limited, const std::vector<ScoredDocument>& all, std::size_t k) {
  const std::vector<bool> is_found = found_among(all, limited.found);
  const std::size_t best = std::min(k, all.size());
  const auto recalled = static_cast<std::size_t>(
      std::count(is_found.begin(), is_found.begin() + static_cast<std::ptrdiff_t>(best), true));
  if (!limited.statistics.bound_left) {
    REQUIRE(limited.found.size() == best);
    REQUIRE(recalled == best);
    return recalled;
  }
  const float bound = *limited.statistics.bound_left;
  // The best of those that are missing.
  const auto missing = std::find(is_found.begin(), is_found.begin() + static_cast<std::ptrdiff_t>(best), false);
  if (recalled < best) REQUIRE(all[static_cast<std::size_t>(missing - is_found.begin())].score <= bound);
  if (limited.found.size() == k) REQUIRE(bound >= limited.found.back().score);
  return recalled;
}

struct Outcomes {
  std::size_t exact = 0, unproven = 0, incomplete = 0;
};

/// Growing shares left out, of every algorithm that takes a budget.
void check_query(const QueryEngine& engine, QueryView query, const DocumentSet* passing, Outcomes& outcomes) {
  const std::size_t documents = engine.index().num_documents();
  const auto all = engine.search(query, algorithm_named("or"), documents, nullptr, passing);
  for (const char* algorithm : {"auto", "maxscore", "bmp"})
    for (const std::size_t k : {std::size_t{1}, std::size_t{3}, std::size_t{100}, documents + 1}) {
      INFO(algorithm << ", k " << k);
      const std::size_t best = std::min(k, all.size());
      std::size_t before = best;
      for (const double percent : {0.0, 30.0, 60.0, 90.0, 100.0}) {
        INFO(percent << " %");
        const Limited limited = search_within(engine, query, algorithm, k, passing, {std::nullopt, percent});
        const std::size_t found = check_outcome(limited, all, k);
        REQUIRE((percent > 0 || !limited.statistics.bound_left));
        REQUIRE(found <= before);
        before = found;
        ++(limited.statistics.bound_left ? outcomes.unproven : outcomes.exact);
        outcomes.incomplete += found < best;
      }
      check_outcome(search_within(engine, query, algorithm, k, passing, {1.0, std::nullopt}), all, k);
      REQUIRE(!search_within(engine, query, algorithm, k, passing, {max_budget_us, 0.0}).statistics.bound_left);
    }
}

void check_all_outcomes_seen(const Outcomes& outcomes) {
  CHECK(outcomes.exact > 20);
  CHECK(outcomes.unproven > 20);
  CHECK(outcomes.incomplete > 20);
}

DocumentSet some_documents(const IndexReader& index, std::uint64_t one_in) {
  RandomBits random(3);
  DocumentSet passing(index.num_documents());
  for (docid_t docid = 0; docid < index.num_documents(); ++docid)
    if (random.below(one_in) == 0) passing.add(docid);
  return passing;
}

}  // namespace

TEST_CASE("a search with a budget claims no more than it knows, with BM25", "[query][budget][property]") {
  SmallBlocks small;
  const auto queries = draw_queries(29, small.model, 24);
  Outcomes outcomes;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext&) {
    ScoringOptions other;
    other.bm25.k1 = 0.7f;
    const QueryEngine other_engine(engine.index(), other);
    const DocumentSet passing = some_documents(engine.index(), 20);
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      check_query(engine, query_of(query), nullptr, outcomes);
      check_query(engine, query_of(query), &passing, outcomes);
      check_query(other_engine, query_of(query), nullptr, outcomes);
      // Against a model of the index.
      const auto all = small.model.search(query, false, engine.index().num_documents());
      for (const double percent : {50.0, 80.0})
        check_outcome(search_within(engine, query_of(query), "auto", 10, nullptr, {std::nullopt, percent}), all, 10);
    }
  });
  check_all_outcomes_seen(outcomes);
}

TEST_CASE("a search with a budget claims no more than it knows, with PageRank", "[query][budget][property]") {
  RankedPages pages(31, {1500, 400, 14, false});
  Outcomes outcomes;
  RandomBits random(5);
  std::vector<std::string> terms;
  const ModelIndex model(pages.documents, pages.order(OrderBy::natural, 0.3).documents);
  for (const auto& list : model.lists()) terms.push_back(list.first);
  for (const OrderBy by : {OrderBy::natural, OrderBy::score})
    for (const double alpha : {0.3, 0.9}) {
      const DocumentOrder order = pages.order(by, alpha);
      const IndexReader index = pages.index(order, alpha, blocks_of(4));
      const QueryEngine engine(index, with_pagerank(alpha));
      REQUIRE(engine.ends_early() == (by == OrderBy::score));
      const DocumentSet passing = some_documents(index, 9);
      for (int i = 0; i < 12; ++i) {
        const auto query = draw_query(random, terms);
        INFO("alpha " << alpha << ", query " << text_of(query));
        check_query(engine, query_of(query), nullptr, outcomes);
        check_query(engine, query_of(query), &passing, outcomes);
      }
    }
  check_all_outcomes_seen(outcomes);
}

TEST_CASE("a search with a budget claims no more than it knows, with given weights", "[query][budget][property]") {
  // Windows of bitmaps, the last of them ending within a block.
  constexpr std::size_t documents = 2 * bitmap_window + 1000;
  Outcomes outcomes;
  RandomBits random(11);
  // Few distinct weights give many equal scores and bounds.
  for (const std::uint32_t max_weight : {255u, 3u, 60000u}) {
    Pipeline pipeline;
    const CollectionReader collection(
        parse_weights(pipeline, as_vector_jsonl(random_weights(max_weight, documents, 60, max_weight)),
                      {max_weight > 255 ? 16u : 8u}));
    const IndexReader index =
        Pipeline::open_index(pipeline.build(collection, pipeline.order(collection, OrderBy::random), blocks_of(64)));
    const QueryEngine engine(index, {}), without_bitmaps(index, {}, 1, QueryMemory(2 << 20, 1));
    const DocumentSet passing = some_documents(index, 50);
    for (int i = 0; i < 12; ++i) {
      std::vector<QueryTerm> drawn = {{"everywhere", static_cast<double>(1 + random.below(5))}};
      if (i % 2 > 0) drawn.push_back({"##often", static_cast<double>(1 + random.below(5))});
      for (int some = 0; some < i; ++some)
        drawn.push_back({"T" + std::to_string(random.below(60)), static_cast<double>(1 + random.below(5))});
      INFO(query_vector_text(drawn));
      const QueryTerms query = engine.reader().use(drawn);
      check_query(engine, query, nullptr, outcomes);
      check_query(engine, query, &passing, outcomes);
      if (i % 4 == 0) check_query(without_bitmaps, query, nullptr, outcomes);
    }
  }
  check_all_outcomes_seen(outcomes);
}

TEST_CASE("the blocks left out are the same with all SIMD instructions", "[query][budget]") {
  SmallBlocks small;
  const auto queries = draw_queries(43, small.model, 20);
  const SimdLevel best = simd_level();
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext&) {
    for (const auto& query : queries) {
      std::optional<Limited> first;
      for (const SimdLevel level : simd_levels()) {
        set_simd_level(level);
        const Limited limited = search_within(engine, query_of(query), "auto", 10, nullptr, {std::nullopt, 60.0});
        if (!first) first = limited;
        require_same(limited.found, first->found);
        REQUIRE(limited.statistics.bound_left == first->statistics.bound_left);
      }
      set_simd_level(best);
    }
  });
}

TEST_CASE("a budget out of range, or of an algorithm that can't keep to one, is refused", "[query][budget]") {
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    CHECK(!within_budget(algorithm, {}).budget.is_set());
    if (algorithm.takes_budget) {
      CHECK(within_budget(algorithm, {5.0, 10.0}).budget.is_set());
      CHECK_THROWS_AS(within_budget(algorithm, {0.5, std::nullopt}), InvalidArgument);
      CHECK_THROWS_AS(within_budget(algorithm, {60e6 + 1, std::nullopt}), InvalidArgument);
      CHECK_THROWS_AS(within_budget(algorithm, {std::nullopt, -1.0}), InvalidArgument);
      CHECK_THROWS_AS(within_budget(algorithm, {std::nullopt, 100.5}), InvalidArgument);
      CHECK_THROWS_AS(within_budget(algorithm, {std::numeric_limits<double>::quiet_NaN(), std::nullopt}),
                      InvalidArgument);
    } else {
      CHECK_THROWS_WITH(within_budget(algorithm, {5.0, std::nullopt}), Catch::Contains("auto, maxscore or bmp"));
    }
  }
}

}  // namespace quern
