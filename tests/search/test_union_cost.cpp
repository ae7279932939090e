#include "quern/search/union_cost.hpp"

#include "catch.hpp"
#include "search/small_blocks.hpp"

/// Estimated costs of unions: what `auto` may rely on, whatever the constants.
namespace quern {
namespace {

using namespace testing;

UnionCosts costs_of(const QueryEngine& engine, const ScoringContext& context, const std::vector<std::string>& terms,
                    std::size_t k) {
  bool all_found = false;
  const auto lists = engine.lists_of(query_of(terms), all_found);
  return union_costs(context, lists, k);
}

}  // namespace

TEST_CASE("skipping is estimated to cost less for few results than for many", "[query][union_cost]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const UnionCosts few = costs_of(engine, context, small_terms, 1),
                     all = costs_of(engine, context, small_terms, 100000);
    CHECK(few.pivots < all.pivots);
    CHECK(all.exhaustive < all.pivots);
    // It reads everything in any case.
    CHECK(few.exhaustive == all.exhaustive);
  });
}

TEST_CASE("a rare term makes skipping a frequent one cheap", "[query][union_cost]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const UnionCosts costs = costs_of(engine, context, {"w300", "everywhere"}, 1);
    CHECK(costs.pivots < costs.exhaustive / 2);
  });
}

TEST_CASE("a score that results must exceed makes skipping cheaper", "[query][union_cost]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, ScoringContext context) {
    const UnionCosts without = costs_of(engine, context, small_terms, 1000);
    context.above = 1e6f;
    const UnionCosts with = costs_of(engine, context, small_terms, 1000);
    CHECK(with.pivots < without.pivots);
    CHECK(with.exhaustive == without.exhaustive);
  });
}

}  // namespace quern
