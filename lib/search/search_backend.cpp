#include "quern/search/search_backend.hpp"

#include <deque>

#include "quern/core/wall_clock.hpp"
#include "quern/search/top_k.hpp"

namespace quern {
namespace {

void run_searches(SearchBackend& backend, const SearchRequest& request, const AnswerConsumer& consumer) {
  struct Begun {
    std::size_t first;
    std::unique_ptr<PendingSearch> search;
  };
  std::deque<Begun> begun;
  for (std::size_t next = 0; next < request.queries.size() || !begun.empty();) {
    while (next < request.queries.size()) {
      // Asked each time, since processors may fail.
      const std::size_t left = request.queries.size() - next;
      const SearchDivision division = backend.division(request.part(next, left), consumer.held_bytes);
      if (begun.size() >= std::max<std::size_t>(division.searches, 1)) break;
      const std::size_t count = std::min(std::max<std::size_t>(division.queries, 1), left);
      begun.push_back({next, backend.begin(request.part(next, count))});
      next += count;
    }
    const Begun first = std::move(begun.front());
    begun.pop_front();
    AnswerConsumer shifted = consumer;
    if (consumer.render)
      shifted.render = [&](std::size_t i, QueryAnswer& answer) { consumer.render(first.first + i, answer); };
    shifted.take = [&](std::size_t i, const QueryAnswer& answer) { consumer.take(first.first + i, answer); };
    backend.finish(*first.search, shifted);
  }
}

}  // namespace

void run(SearchBackend& backend, const SearchRequest& request, const AnswerConsumer& consumer) {
  run_searches(backend, request, consumer);
}

CpuBackend::CpuBackend(std::vector<const QueryEngine*> engines) : engines_(std::move(engines)) {}

std::unique_ptr<PendingSearch> CpuBackend::begin(const SearchRequest& request) {
  return std::make_unique<PendingSearch>(request);
}

void CpuBackend::finish(PendingSearch& search, const AnswerConsumer& consumer) {
  const SearchRequest& request = search.request();
  hand_over(request.queries.size(), consumer, [&](std::size_t i, QueryAnswer& out) {
    const auto started = WallClock::now();
    out.documents = this->search(request.queries[i], *request.algorithm, request.k, &out.statistics, request.passing);
    out.time_us = us_since(started);
  });
}

SearchDivision CpuBackend::division(const SearchRequest& request, std::uint64_t) { return {request.queries.size(), 1}; }

std::vector<ScoredDocument> CpuBackend::search(QueryView query, const QueryAlgorithm& algorithm, std::size_t k,
                                               QueryStatistics* statistics, ShardFilters passing) const {
  if (engines_.size() == 1) return engines_.front()->search(query, algorithm, k, statistics, passing_of(passing, 0));
  const auto search_all = [&](QueryAlgorithm by) {
    const auto begun = WallClock::now();
    QueryStatistics counted;
    std::vector<ScoredDocument> best;
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      const QueryEngine& engine = *engines_[shard];
      // Of equal scores, those of earlier shards come first.
      const float above = k > 0 && best.size() == k ? best.back().score : ScoringContext().above;
      // Each shard may take an equal part of the time that is left.
      if (algorithm.budget.time_us)
        by.budget.time_us =
            (*algorithm.budget.time_us - us_since(begun)) / static_cast<double>(engines_.size() - shard);
      const auto found = engine.search(query, by, k, &counted, passing_of(passing, shard), above);
      add_results_of_shard(best, found, first_docid(engine, engines_.size()), k);
    }
    counted.prove(best, k);
    if (statistics) *statistics += counted;
    return best;
  };
  if (algorithm.matching != Matching::all_else_any) return search_all(algorithm);
  std::vector<ScoredDocument> best = search_all(algorithm_named("and"));
  return best.size() >= k ? best : search_all(algorithm_named("auto"));
}

}  // namespace quern
