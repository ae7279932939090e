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

RankingShare::RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
                           const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress)
    : engine_(engine), index_(engine, gpu, memory, progress) {
  if (!index_.division().whole_index) store_.emplace(index_, memory, progress);
  set_strategy(strategy, options, progress);
}

void RankingShare::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
                                Progress& progress) {
  strategy_ = &strategy;
  last_runner_ = nullptr;
  flights_.clear();
  if (strategy.reads_block_maxima) index_.upload_block_maxima(progress);
  if (strategy.reads_upper_bounds) index_.upload_upper_bounds(engine_, progress);
  for (unsigned i = 0; i < num_flights; ++i)
    flights_.push_back({gpu::BatchRunner(index_, store_ ? &*store_ : nullptr, strategy, options)});
}

gpu::MemoryTable RankingShare::memory() const {
  gpu::MemoryTable all = index_.account().most();
  for (const Flight& flight : flights_)
    for (std::size_t use = 0; use < all.size(); ++use) all[use] += flight.runner.memory()[use];
  return all;
}

std::size_t RankingShare::launch(unsigned flight, std::span<GpuQuery* const> queries) {
  Flight& of = flights_[flight];
  of.has_batch = false;
  for (bool freed = false;;) {
    queries = queries.first(std::min(queries.size(), most_queries_));
    try {
      const std::size_t count = start_batch(flight, queries);
      of.has_batch = true;
      // Perhaps more fit by now.
      if (count == most_queries_) most_queries_ *= 2;
      return count;
    } catch (const GpuOutOfMemory&) {
      of.runner.abandon();
      if (store_) store_->release(flight);
    }
    // Arrays of earlier batches may be larger than this one needs.
    of.runner.free_memory();
    if (freed && queries.size() == 1) break;
    if (freed) most_queries_ = queries.size() / 2;
    freed = true;
  }
  queries.front()->on_cpu = true;
  return 1;
}

bool RankingShare::has_room(const gpu::QueryBatch& batch, ListSums& sums) const {
  // Arrays grow by a quarter.
  if (strategy_->batch_bytes(batch, work_.k) > index_.bytes_per_batch() / 5 * 4) return false;
  if (!store_) return true;
  const gpu::ListCache& cache = store_->cache();
  for (; sums.lists < batch.coded.size(); ++sums.lists) {
    const PostingList& list = *batch.coded[sums.lists].second;
    sums.words += cache.words_of(list);
    sums.rows += cache.rows_of(list);
  }
  // The other flight's batch needs as much.
  return sums.words <= cache.free_words() / num_flights && sums.rows <= cache.free_rows() / num_flights;
}

void RankingShare::bring_lists(unsigned flight, gpu::QueryBatch& batch) {
  if (!store_) return;
  std::vector<gpu::WantedList> wanted;
  wanted.reserve(batch.coded.size());
  for (const auto& [number, list] : batch.coded) wanted.push_back({list, &batch.lists[number]});
  if (store_->acquire(flight, wanted)) return;
  for (unsigned other = 0; other < num_flights; ++other) {
    if (other == flight || !flights_[other].has_batch) continue;
    flights_[other].runner.wait_for_kernels();
    store_->release(other);
  }
  if (!store_->acquire(flight, wanted)) throw GpuOutOfMemory("the lists of a batch do not fit into the GPU's memory");
}

std::size_t RankingShare::start_batch(unsigned flight, std::span<GpuQuery* const> queries) {
  const auto started = WallClock::now();
  gpu::QueryBatch batch(engine_);
  std::vector<gpu::WaitingQuery> waiting;
  waiting.reserve(queries.size());
  for (const GpuQuery* query : queries) waiting.push_back({query->lists, query->min_units});
  ListSums sums;
  const std::size_t count = batch.add(waiting, work_.k, work_.intersect, [&] { return has_room(batch, sums); });
  bring_lists(flight, batch);
  gpu::BatchRunner& runner = flights_[flight].runner;
  runner.start(batch, work_, last_runner_ == &runner ? nullptr : last_runner_);
  last_runner_ = &runner;
  ++outcome_.statistics.batches;
  outcome_.statistics.prepare_us += us_since(started);
  return count;
}

void RankingShare::land(unsigned flight, std::span<GpuQuery* const> queries) {
  Flight& of = flights_[flight];
  if (!of.has_batch) return;
  gpu::BatchRunner& runner = of.runner;
  runner.wait();
  of.has_batch = false;
  if (store_) {
    store_->release(flight);
    outcome_.statistics.lists += store_->take_counts();
    outcome_.statistics.copy_lists_us += store_->copy_us(flight);
  }
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
  for (unsigned flight = 0; flight < flights_.size(); ++flight) {
    flights_[flight].runner.abandon();
    flights_[flight].has_batch = false;
    if (store_) store_->release(flight);
  }
  last_runner_ = nullptr;
}

}  // namespace quern
