#include "gpu/range_on_host.hpp"
//
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"

/// The kernels of the strategy `range` give the CPU's results with little space for candidates, and for any cut of
/// intersections into items.
namespace quern {
namespace {

using namespace testing;
using Queries = std::vector<std::vector<std::string>>;

/// The alternatives for finding candidates, and for scoring them.
std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const bool score_first : {false, true}) {
    ways.push_back({false, false, score_first, gpu::Pruning::none});
    ways.push_back({false, false, score_first, gpu::Pruning::blocks});
    ways.push_back({true, false, score_first});
    ways.back().few_queries = true;
  }
  ways.push_back({true, true, false});
  return ways;
}

/// Space for each query's candidates, and spare space that all queries share.
struct Room {
  std::uint32_t own = 0, spare = 0;
};

/// The outcomes of queries in some batches.
struct Ends {
  std::size_t answered = 0, again = 0;
  std::uint32_t max_found = 0, max_used_spare = 0;
};

/// Compares the results of queries whose candidates fit with the CPU's.
void check_way(const QueryEngine& engine, const Queries& queries, const Way& way, const Room& room, Ends& ends) {
  constexpr std::size_t k = 10;
  HostIndex index(engine);
  BatchQueries asked;
  gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, k, asked);
  HostEntries entries = entries_for(batch);
  entries.place(batch);
  HostBatch host(index, batch, k, way.pruning == gpu::Pruning::blocks);
  host.use(entries);
  if (way.item_documents > 0) host.cut_items(batch, way.item_documents);
  host.view.max_candidates = room.own;
  host.view.sorted_candidates = std::min(host.view.sorted_candidates, room.own);
  host.view.max_spare = room.spare;
  run_way(index, host, way);
  REQUIRE(index.damaged() == 0);
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < asked.texts.size(); ++i) {
    INFO("intersect " << way.intersect << ", from lists " << way.from_lists << ", scored first " << way.score_first
                      << ", pruning " << static_cast<int>(way.pruning) << ", documents of an item "
                      << way.item_documents << ", query " << asked.texts[i]);
    ends.max_found = std::max(ends.max_found, host.view.num_candidates[i]);
    if (host.min_units_again(i)) {
      ++ends.again;
      continue;
    }
    ++ends.answered;
    require_same(host.results(i), engine.search(terms_of_text(asked.texts[i], analyzer),
                                                algorithm_named(way.intersect ? "and" : "or"), k));
  }
  ends.max_used_spare = std::max(ends.max_used_spare, host.view.num_candidates[asked.texts.size()]);
}

/// Documents in two ranges, most of which contain a query's terms.
struct CommonTerms {
  IndexedCorpus corpus{59, {17000, 40, 30, false}};
  IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  Queries queries{{"everywhere", "often"}, {"everywhere"}, {"often", corpus.terms(3)[2], "everywhere"}, {"often"}};
};

template <class Check>
void check_scores(const IndexReader& index, const Check& check) {
  check(QueryEngine(index, {}));
  check(QueryEngine(index, with_scores(Scores::quantized)));
}

}  // namespace

TEST_CASE("few of the documents that reach the first threshold become candidates", "[gpu_emulated]") {
  const CommonTerms common;
  const Room room{gpu::few_candidates, static_cast<std::uint32_t>(gpu::max_spare(common.queries.size()))};
  Ends ends;
  check_scores(common.index, [&](const QueryEngine& engine) {
    for (const Way& way : all_ways()) check_way(engine, common.queries, way, room, ends);
  });
  CHECK(ends.again == 0);
  CHECK(ends.max_used_spare == 0);
  // Out of 11,000 documents or more.
  CHECK(ends.max_found < 3000);
}

TEST_CASE("candidates that don't fit a query's space go to the spare space", "[gpu_emulated]") {
  const CommonTerms common;
  Ends roomy, tight, none;
  check_scores(common.index, [&](const QueryEngine& engine) {
    for (const Way& way : all_ways()) {
      check_way(engine, common.queries, way, {16, 20000}, roomy);
      check_way(engine, common.queries, way, {16, 20}, tight);
      check_way(engine, common.queries, way, {16, 0}, none);
    }
  });
  CHECK(roomy.again == 0);
  CHECK(roomy.max_used_spare > 0);
  CHECK(tight.again > 0);
  CHECK(none.again >= tight.again);
  CHECK(none.answered > 0);
}

TEST_CASE("intersections give the CPU's results for any cut into items", "[gpu_emulated][property]") {
  IndexedCorpus corpus(61, {33000, 60, 8, false});
  const auto queries = draw_queries(19, corpus.model, 11);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {128, 1}, 8));
  const Room room{gpu::few_candidates, 100000};
  Ends ends;
  check_scores(index, [&](const QueryEngine& engine) {
    for (const std::uint64_t documents : {1, 33, 300, 5000, 1000000})
      check_way(engine, queries, {true, false, true, gpu::Pruning::none, nullptr, nullptr, documents}, room, ends);
  });
  CHECK(ends.again == 0);
  CHECK(ends.answered >= 50);
}

TEST_CASE("intersections of more terms than a warp has lanes give the CPU's results", "[gpu_emulated]") {
  IndexedCorpus corpus(63, {300, 90, 400, false});
  // Terms of one document, so there is a result.
  Queries queries;
  for (const ModelDocument& document : corpus.documents) {
    std::set<std::string> distinct(document.tokens.begin(), document.tokens.end());
    const std::size_t wanted = 31 + queries.size();
    if (distinct.size() < wanted) continue;
    queries.emplace_back(distinct.begin(), std::next(distinct.begin(), static_cast<std::ptrdiff_t>(wanted)));
    if (wanted == gpu::max_terms) break;
  }
  REQUIRE(queries.size() > 8);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {8, 1}, 8));
  Ends ends;
  check_scores(index, [&](const QueryEngine& engine) {
    for (const std::uint64_t documents : {1, 40, 100000})
      check_way(engine, queries, {true, false, true, gpu::Pruning::none, nullptr, nullptr, documents},
                {gpu::few_candidates, 0}, ends);
  });
  CHECK(ends.again == 0);
  CHECK(ends.answered == 6 * queries.size());
}

}  // namespace quern
