#include "quern/plan/cache_plan.hpp"

#include "catch.hpp"
#include "plan/cached_pages.hpp"
#include "search/read_queries.hpp"

/// The visits of queries, compared with a plain AND in rounds.
namespace quern {

using namespace testing;

TEST_CASE("a query stops where a plain AND in rounds does", "[cache][property]") {
  const CachedPages pages(tiny);
  for (const std::size_t k : {1u, 3u, 1000u}) {
    for (const std::size_t round : {tiny, 4 * tiny}) {
      for (const auto& terms : pages.log) {
        INFO("k " << k << ", rounds of " << round << ", query " << text_of(terms));
        const PlainQuery wanted = run_plainly(pages, terms, k, round);
        const auto found = pages.engine.visits(query_of(terms), k, round);
        REQUIRE(found.size() == (wanted.known ? wanted.ends.size() : 0));
        for (std::size_t i = 0; i < found.size(); ++i) {
          REQUIRE(pages.index.term(found[i].term) == wanted.terms[i]);
          REQUIRE(found[i].end == wanted.ends[i]);
        }
      }
    }
  }
}

TEST_CASE("visits are those of a plain AND in rounds", "[cache][property]") {
  for (const unsigned block_size : {tiny, 2 * tiny}) {
    const CachedPages pages(block_size);
    std::size_t stopped = 0;
    for (const std::size_t k : {1u, 3u, 1000u}) {
      for (const std::uint64_t round : {block_size, 4 * block_size}) {
        for (const VisitKind kind : {VisitKind::visited, VisitKind::probed}) {
          for (const std::uint64_t block : {block_size, 2 * block_size, 4 * block_size}) {
            INFO("blocks of " << block_size << ", k " << k << ", rounds of " << round << ", caching blocks of "
                              << block);
            const DemandOptions options{k, round, kind};
            const CacheBlocks blocks(pages.index, block);
            const LogDemand demand = demand_of(pages, blocks, options);
            const auto wanted = plain_demand(pages, options, block);
            REQUIRE(demand.lists.size() == wanted.size());
            CHECK(demand.queries == pages.log.size());
            CHECK(demand.unknown > 0);
            for (const ListDemand& found : demand.lists) {
              const PlainDemand& plain = wanted.at(pages.index.term(found.term));
              REQUIRE(found.queries == plain.queries);
              CHECK(found.df == pages.model.lists().at(pages.index.term(found.term)).size());
              const auto visits = demand.visits_of(found);
              REQUIRE(std::vector(visits.begin(), visits.end()) == plain.visits);
              stopped += visits.back() < found.queries;
            }
          }
        }
      }
    }
    CHECK(stopped > 0);
  }
}

}  // namespace quern
