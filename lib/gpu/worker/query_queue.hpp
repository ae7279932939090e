#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/work_queue.hpp"
#include "quern/search/query_engine.hpp"

namespace quern {

/// A query on its way to a GPU and back. Owned by the thread that took it from a QueryQueue.
struct GpuQuery {
  std::size_t number = 0;  ///< in the order of the queries
  std::span<const WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< minimum units of a result, if known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
  gpu::QueryEnd end;  ///< of the batch that it was in last
};

/// Queries that wait for a GPU, the most expensive first, so that thread blocks finish at about the same time.
/// Thread-safe.
class QueryQueue {
 public:
  /// Batches have at most `max_queries` queries. For one GPU, all have the same size. For several GPUs, they have the
  /// same cost (postings, plus `fixed_cost` per query), and there are a few per GPU, so that all GPUs finish at about
  /// the same time.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost);

  /// Takes the next batch. If none waits, waits until all that was taken is settled, of which something may come back.
  /// Empty: nothing is left.
  std::vector<GpuQuery*> take();
  /// To be called once for each batch that was taken: these queries of it go back, before all others.
  void settle(std::span<GpuQuery* const> back);
  /// Drops all waiting queries.
  void stop();
  bool empty() const { return waiting_.empty(); }
  /// The number of batches that was planned for the queries.
  std::size_t batches() const { return batches_; }

 private:
  std::size_t batches_ = 0;
  gpu::WorkQueue<GpuQuery> waiting_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::size_t unsettled_ = 0;  ///< batches that were taken
};

/// The sizes of the portions in which many queries are found and answered where a batch more costs little: a small one,
/// with which GPUs begin early, and all others, which are cut into batches by what they cost.
std::vector<std::size_t> portion_sizes(std::size_t queries);

}  // namespace quern
