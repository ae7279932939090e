#pragma once
#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/work_queue.hpp"

namespace quern {

/// A query and its results. Belongs to the thread that took it from a QueryQueue.
struct GpuQuery {
  std::size_t number = 0;  ///< in the search
  std::span<const WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< minimum units of a result, if known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
  gpu::QueryEnd end;  ///< in its last batch
};

/// Queries that wait for a GPU, the most expensive first, so that thread blocks end together. Thread-safe.
class QueryQueue {
 public:
  /// Batches have at most `max_queries` queries. For one GPU, all have the same size. For several GPUs, all have the
  /// same cost (postings plus `fixed_cost` per query), and each GPU gets a few.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost);

  /// Takes the next batch. If the queue is empty, waits until all taken batches are settled, since their queries may
  /// come back. Returns an empty batch when none is left.
  std::vector<GpuQuery*> take();
  /// Call it once per taken batch: returns these of its queries to the head of the queue.
  void settle(std::span<GpuQuery* const> back);
  /// Drops all waiting queries.
  void stop();
  bool empty() const { return waiting_.empty(); }
  /// The planned number of batches.
  std::size_t batches() const { return batches_; }

 private:
  std::size_t batches_ = 0;
  gpu::WorkQueue<GpuQuery> waiting_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::size_t unsettled_ = 0;  ///< taken batches
};

/// The sizes of a search's steps where an additional batch costs little: a small first one, so that GPUs begin early,
/// and the rest, which is divided into batches by cost.
std::vector<std::size_t> step_sizes(std::size_t queries);

}  // namespace quern
