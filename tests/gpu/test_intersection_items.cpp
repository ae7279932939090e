#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/range/range_batch.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// The items into which intersections from entries are cut.
namespace quern {
namespace {

using namespace testing;

/// A batch of all queries of two different terms of a corpus.
class Pairs {
 public:
  Pairs(const QueryEngine& engine, const std::vector<std::string>& terms) : batch(engine) {
    for (std::size_t a = 0; a < terms.size(); ++a) {
      for (std::size_t b = a + 1; b < terms.size(); ++b) {
        bool all_found = false;
        std::vector<WeightedList> pair_lists = engine.lists_of(query_of({terms[a], terms[b]}), all_found);
        if (all_found) lists_.push_back(std::move(pair_lists));
      }
    }
    std::vector<gpu::UnbatchedQuery> waiting;
    for (const auto& pair_lists : lists_) waiting.push_back({pair_lists, 0});
    batch.add(waiting, {.intersect = true});
  }

  gpu::QueryBatch batch;

 private:
  std::vector<std::vector<WeightedList>> lists_;
};

/// An item's place among the items of a query and range, and their number.
using Place = std::pair<std::uint32_t, std::uint32_t>;

/// The items of this many ranges, after checks that each query covers each document of each range once.
std::vector<gpu::IntersectionItem> checked_items(const gpu::IntersectionItems& items, std::size_t queries,
                                                 std::uint32_t ranges) {
  gpu::ItemsView view = items.view(ranges);
  view.queries = items.queries().data();
  std::vector<gpu::IntersectionItem> all;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<Place>> places;  // of a query and range
  for (std::uint32_t work = 0; work < view.all; ++work) {
    const gpu::IntersectionItem& item = all.emplace_back(gpu::item_of(view, ranges, work));
    bool sound = item.query < queries && item.place < item.places && item.ranges <= 32;
    sound = sound && (item.ranges <= 1 || item.places == 1);
    for (std::uint32_t i = 0; i < item.ranges; ++i)
      sound = sound && item.first_range + i < ranges &&
              places[{item.query, item.first_range + i}].insert({item.place, item.places}).second;
    if (!sound) FAIL("item " << work << " is not sound");
  }
  REQUIRE(places.size() == queries * ranges);
  for (const auto& [of, own] : places)
    for (const Place& place : own)
      if (place.second != own.size()) FAIL("query " << of.first << " has not all places of range " << of.second);
  return all;
}

}  // namespace

TEST_CASE("items of an intersection cover each document of each query once", "[gpu_batch][property]") {
  IndexedCorpus corpus(3, {2000, 60, 24, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  const Pairs pairs(engine, corpus.terms(8));
  const std::size_t queries = pairs.batch.queries.size();
  REQUIRE(queries > 10);
  std::set<std::uint32_t> cuts, spreads;
  for (const std::uint64_t documents : {1, 7, 32, 256, 3000, 100000}) {
    const gpu::IntersectionItems items(pairs.batch, documents);
    for (const std::uint32_t ranges : {1, 3, 33}) {
      INFO(documents << " documents, " << ranges << " ranges");
      for (const gpu::IntersectionItem& item : checked_items(items, queries, ranges)) {
        cuts.insert(item.places);
        spreads.insert(item.ranges);
      }
    }
    CHECK(items.view(0).all == 0);
  }
  CHECK(cuts.size() > 4);
  CHECK(spreads.contains(32));
}

TEST_CASE("a range of a dense list is cut into items of about the requested size", "[gpu_batch]") {
  IndexedCorpus corpus(3, {2000, 60, 24, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  const Pairs pairs(engine, corpus.terms(12));
  constexpr std::uint32_t wanted = 64;
  for (const gpu::IntersectionItem& item :
       checked_items(gpu::IntersectionItems(pairs.batch, wanted), pairs.batch.queries.size(), 1)) {
    const gpu::BatchQuery& query = pairs.batch.queries[item.query];
    const std::uint32_t shortest = pairs.batch.lists[pairs.batch.terms[query.first_term].list].df;
    CHECK(shortest <= wanted * item.places);
    CHECK((item.places == 1 || shortest * 2 > wanted * item.places));
  }
}

TEST_CASE("a batch without queries has no items", "[gpu_batch]") {
  IndexedCorpus corpus(3, {100, 20, 10, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  const gpu::QueryBatch batch(engine);
  CHECK(gpu::IntersectionItems(batch).view(5).all == 0);
  CHECK(gpu::IntersectionItems().view(5).all == 0);
}

}  // namespace quern
