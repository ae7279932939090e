#pragma once
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/plan/cache_plan.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/intersect.hpp"
#include "quern/search/point_search.hpp"
#include "quern/search/query_engine.hpp"

/// Runs everything that reads lists on damaged indexes with recomputed checksums: each use must return documents of the
/// index or throw a library error.
namespace quern::testing {

/// Calls use(), which may only throw Error.
template <class Use>
void allow_errors(const Use& use) {
  try {
    use();
  } catch (const Error&) {
  }
}

/// Calls use(); errors about damage must name the index.
template <class Use>
void allow_errors_of(const IndexReader& index, const Use& use) {
  allow_errors([&] {
    try {
      use();
    } catch (const CorruptFile& error) {
      if (std::string_view(error.what()).find(index.name()) == std::string_view::npos) std::abort();
      throw;
    }
  });
}

inline void require_documents(const IndexReader& index, std::span<const ScoredDocument> found, std::size_t k) {
  if (found.size() > k) std::abort();
  for (const ScoredDocument& document : found)
    if (document.docid >= index.num_documents()) std::abort();
}

/// Runs all algorithms, for one and for many results, many points at once, and resumed queries.
inline void search_all_ways(const IndexReader& index, const ScoringOptions& options,
                            std::span<const std::string_view> queries) {
  allow_errors_of(index, [&] {
    const QueryEngine engine(index, options);
    Analyzer analyzer = engine.make_analyzer();
    QueryStatistics statistics;
    for (const QueryAlgorithm& algorithm : all_algorithms())
      for (const std::string_view query : queries)
        for (const std::size_t k : {1, 100})
          allow_errors_of(index, [&] {
            require_documents(index, engine.search(terms_of_text(query, analyzer), algorithm, k, &statistics), k);
          });
    if (!engine.quantizer()) {
      const std::array<ScoringPoint, 3> points = {{{}, {{0.1, 1}}, {{9, 0}, 1}}};
      const PointSearch search({&engine}, points);
      const std::array<docid_t, 2> wanted = {0, index.num_documents() / 2};
      for (const std::string_view query : queries)
        allow_errors_of(index, [&] {
          for (const auto& best : search.search(terms_of_text(query, analyzer), wanted, 10).best)
            require_documents(index, best, 10);
        });
    }
    for (const std::string_view query : queries)
      for (const docid_t first : {docid_t{0}, index.num_documents() / 2, end_docid}) {
        allow_errors_of(index, [&] {
          bool all_found = false;
          const auto lists = engine.lists_of(terms_of_text(query, analyzer), all_found);
          require_documents(index, engine.resume(lists, 10, first, {}, &statistics), 10);
        });
      }
  });
}

inline void intersect_all_ways(const IndexReader& index, std::span<const std::string_view> queries) {
  for (const IntersectionMethod& method : all_intersection_methods()) {
    const Intersection intersection(index, method, {});
    Intersection::WorkSpace space;
    IntersectionAnswer answer;
    for (const std::string_view query : queries)
      allow_errors_of(index, [&] {
        intersection.answer(intersection.reader().read(query), space, answer);
        for (std::size_t i = 0; i < answer.documents.size(); ++i)
          if (answer.documents[i] >= index.num_documents() || (i > 0 && answer.documents[i] <= answer.documents[i - 1]))
            std::abort();
      });
  }
}

inline void add_all(std::span<const std::string_view> queries, LogQueries& log) {
  for (const std::string_view query : queries) log.add(query);
}

/// Plans by all policies, and simulates them for the same queries.
inline void plan_all_ways(const IndexReader& index, const ScoringOptions& scoring,
                          std::span<const std::string_view> queries, const Resources& resources) {
  allow_errors_of(index, [&] {
    const QueryEngine engine(index, scoring);
    const CacheBlocks blocks(index, CacheBlocks::default_size(index), resources, engine.quantizer() != nullptr);
    for (const VisitKind kind : {VisitKind::visited, VisitKind::probed}) {
      LogQueries log(index.manifest().analyzer, resources);
      add_all(queries, log);
      PlanOptions options;
      options.demand.kind = kind;
      options.demand.round = blocks.size();
      const LogDemand demand = measure_demand(engine, blocks, log, options.demand, resources);
      for (const CachePolicy& policy : all_cache_policies()) {
        options.policy = policy.name;
        options.budget_bytes = blocks.index_bytes() / 2;
        const CachePlan plan = make_plan(engine, blocks, demand, options);
        LogQueries log_again(index.manifest().analyzer, resources);
        add_all(queries, log_again);
        simulate_plan(plan, index, log_again, 2, resources);
      }
    }
  });
}

/// The kinds of scores.
inline std::array<ScoringOptions, 5> all_scoring_options() {
  ScoringOptions exact, quantized, other_bm25, pagerank, complete;
  quantized.scores = Scores::quantized;
  other_bm25.bm25.k1 = 0.9f;
  pagerank.scorer = complete.scorer = Scorer::bm25_pagerank;
  complete.early_termination = false;
  return {exact, quantized, other_bm25, pagerank, complete};
}

/// Runs one of the above, chosen by `way`, for fuzzers; use_index() runs all.
inline void use_index_one_way(const IndexReader& index, std::span<const std::string_view> queries,
                              const Resources& resources, std::size_t way) {
  const auto options = all_scoring_options();
  switch (way) {
    case 5:
      return intersect_all_ways(index, queries);
    case 6:
      return plan_all_ways(index, options[0], queries, resources);
    case 7:
      return plan_all_ways(index, options[3], queries, resources);
    case 8:
      return plan_all_ways(index, options[1], queries, resources);
    default:
      return search_all_ways(index, options.at(way), queries);
  }
}
inline constexpr std::size_t ways_to_use_index = 9;

inline void use_index(const IndexReader& index, std::span<const std::string_view> queries, const Resources& resources) {
  for (std::size_t way = 0; way < ways_to_use_index; ++way) use_index_one_way(index, queries, resources, way);
}

}  // namespace quern::testing
