#include "quern/gpu/engine/ranking_share.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/query_batch.hpp"

namespace quern {

QueryQueue::QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus,
                       std::uint64_t fixed_cost) {
  tbb::parallel_sort(queries.begin(), queries.end(), [](const GpuQuery* a, const GpuQuery* b) {
    return std::tie(b->postings, a->number) < std::tie(a->postings, b->number);
  });
  const std::size_t count = queries.size();
  if (count == 0) return;
  batches_ = (count + max_queries - 1) / max_queries;
  gpu::BatchLimits<GpuQuery> limits;
  if (gpus <= 1) {
    limits.items = (count + batches_ - 1) / batches_;
  } else {
    batches_ = std::min(count, std::max(batches_, gpus * gpu::batches_per_gpu));
    limits.items = max_queries;
    limits.cost_of = [fixed_cost](const GpuQuery& query) { return query.postings + fixed_cost; };
    std::uint64_t cost = 0;
    for (const GpuQuery* query : queries) cost += limits.cost_of(*query);
    limits.cost = cost / batches_ + 1;
  }
  start(std::move(queries), std::move(limits));
}

RankingShare::RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::Strategy& strategy,
                           const gpu::StrategyOptions& options, Progress& progress)
    : engine_(engine), index_(engine, gpu, progress) {
  set_strategy(strategy, options, progress);
}

void RankingShare::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
                                Progress& progress) {
  strategy_ = &strategy;
  last_runner_ = nullptr;
  runners_.clear();
  if (strategy.reads_block_maxima) index_.upload_block_maxima(progress);
  for (unsigned i = 0; i < num_flights; ++i) runners_.emplace_back(index_, strategy, options);
}

std::size_t RankingShare::launch(unsigned flight, std::span<GpuQuery* const> queries) {
  const auto started = WallClock::now();
  const std::uint64_t max_bytes = index_.free_bytes() / (num_flights + 1);
  gpu::QueryBatch batch(engine_);
  std::vector<gpu::WaitingQuery> waiting;
  waiting.reserve(queries.size());
  for (const GpuQuery* query : queries) waiting.push_back({query->lists, query->min_units});
  const std::size_t count =
      batch.add(waiting, work_.k, work_.intersect, [&] { return strategy_->batch_bytes(batch, work_.k) <= max_bytes; });
  gpu::BatchRunner& runner = runners_[flight];
  runner.start(batch, work_, last_runner_ == &runner ? nullptr : last_runner_);
  last_runner_ = &runner;
  ++outcome_.statistics.batches;
  outcome_.statistics.prepare_us += us_since(started);
  return count;
}

void RankingShare::land(unsigned flight, std::span<GpuQuery* const> queries) {
  gpu::BatchRunner& runner = runners_[flight];
  runner.wait();
  outcome_.statistics.device += runner.times();
  outcome_.statistics.counts += runner.counts();
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    GpuQuery& query = *queries[i];
    gpu::BatchAnswer answer = runner.answer(static_cast<std::uint32_t>(i));
    query.answered = answer.complete;
    query.documents = std::move(answer.documents);
    query.min_units = answer.min_units;
  });
  std::copy_if(queries.begin(), queries.end(), std::back_inserter(outcome_.again),
               [](const GpuQuery* query) { return !query->answered; });
}

void RankingShare::abandon() noexcept {
  for (gpu::BatchRunner& runner : runners_) runner.abandon();
  last_runner_ = nullptr;
}

}  // namespace quern
