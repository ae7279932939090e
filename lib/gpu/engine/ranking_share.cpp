#include "quern/gpu/engine/ranking_share.hpp"

#include <algorithm>
#include <iterator>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/engine/in_parallel.hpp"
#include "quern/gpu/engine/query_batch.hpp"

namespace quern {

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
  if (strategy.reads_block_maxima) index_.hold_block_maxima(progress);
  for (unsigned i = 0; i < num_flights; ++i) runners_.emplace_back(index_, strategy, options);
}

std::size_t RankingShare::launch(unsigned flight, std::span<GpuQuery* const> queries) {
  const auto begun = WallClock::now();
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
  outcome_.statistics.prepare_us += us_since(begun);
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
