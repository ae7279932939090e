#include "quern/gpu/engine/gpu_share.hpp"

#include <algorithm>
#include <iterator>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/engine/in_parallel.hpp"
#include "quern/gpu/engine/query_batch.hpp"

namespace quern {

namespace {

/// Batches under way.
constexpr unsigned num_flights = 2;

}  // namespace

GpuShare::GpuShare(const QueryEngine& engine, unsigned gpu, const gpu::Strategy& strategy,
                   const gpu::StrategyOptions& options, Progress& progress)
    : engine_(engine), index_(engine, gpu, progress) {
  set_strategy(strategy, options, progress);
}

void GpuShare::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress) {
  strategy_ = &strategy;
  last_runner_ = nullptr;
  flights_.clear();
  if (strategy.reads_block_maxima) index_.hold_block_maxima(progress);
  for (unsigned i = 0; i < num_flights; ++i) flights_.push_back({gpu::BatchRunner(index_, strategy, options), {}});
}

void GpuShare::answer(QueryQueue& queue, const gpu::BatchWork& work, ShareOutcome& outcome) {
  try {
    answer_all(queue, work, outcome);
  } catch (const CudaError&) {
    queue.give_back(abandon());
    throw;
  } catch (...) {
    queue.stop();
    abandon();
    throw;
  }
}

void GpuShare::answer_all(QueryQueue& queue, const gpu::BatchWork& work, ShareOutcome& outcome) {
  std::size_t next = 0;
  for (taken_ = queue.take(); !taken_.empty(); taken_ = queue.take()) {
    for (; !taken_.empty(); next = (next + 1) % flights_.size()) {
      land(flights_[next], outcome);
      launch(flights_[next], work, outcome.statistics);
    }
  }
  for (std::size_t i = 0; i < flights_.size(); ++i) land(flights_[(next + i) % flights_.size()], outcome);
}

void GpuShare::launch(Flight& flight, const gpu::BatchWork& work, GpuStatistics& statistics) {
  const auto begun = WallClock::now();
  const std::uint64_t max_bytes = index_.free_bytes() / (flights_.size() + 1);
  gpu::QueryBatch batch(engine_);
  std::vector<gpu::WaitingQuery> waiting;
  waiting.reserve(taken_.size());
  for (const GpuQuery* query : taken_) waiting.push_back({query->lists, query->min_units});
  const std::size_t count =
      batch.add(waiting, work.k, work.intersect, [&] { return strategy_->batch_bytes(batch, work.k) <= max_bytes; });
  flight.runner.start(batch, work, last_runner_ == &flight.runner ? nullptr : last_runner_);
  last_runner_ = &flight.runner;
  const auto end = taken_.begin() + static_cast<std::ptrdiff_t>(count);
  flight.queries.assign(taken_.begin(), end);
  taken_.erase(taken_.begin(), end);
  ++statistics.batches;
  statistics.prepare_us += us_since(begun);
}

void GpuShare::land(Flight& flight, ShareOutcome& outcome) {
  if (flight.queries.empty()) return;
  flight.runner.wait();
  outcome.statistics.device += flight.runner.times();
  outcome.statistics.counts += flight.runner.counts();
  gpu::in_parallel(flight.queries.size(), [&](std::size_t i) {
    GpuQuery& query = *flight.queries[i];
    gpu::BatchAnswer answer = flight.runner.answer(static_cast<std::uint32_t>(i));
    query.answered = answer.complete;
    query.documents = std::move(answer.documents);
    query.min_units = answer.min_units;
  });
  std::copy_if(flight.queries.begin(), flight.queries.end(), std::back_inserter(outcome.again),
               [](const GpuQuery* query) { return !query->answered; });
  flight.queries.clear();
}

std::vector<GpuQuery*> GpuShare::abandon() {
  std::vector<GpuQuery*> unanswered;
  for (Flight& flight : flights_) {
    flight.runner.abandon();
    unanswered.insert(unanswered.end(), flight.queries.begin(), flight.queries.end());
    flight.queries.clear();
  }
  unanswered.insert(unanswered.end(), taken_.begin(), taken_.end());
  taken_.clear();
  last_runner_ = nullptr;
  return unanswered;
}

}  // namespace quern
