#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "quern/query/query_engine.hpp"

namespace quern {

/// A query on its way to a GPU and back. Whoever took it from a QueryQueue has it alone.
struct GpuQuery {
  std::size_t number = 0;  ///< among those that are answered together
  std::vector<WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
};

/// Queries that wait for a GPU, dearest first, so that the last thread blocks have little to do. Whoever has nothing to
/// do takes a batch. Thread-safe.
class QueryQueue {
 public:
  /// Batches are of `max_queries` at most. For one GPU they are of like size: while one runs the next is made. For
  /// several they cost alike, postings and `fixed_cost` a query, and each GPU gets a few, so that all end together.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost);

  /// The next batch, dearest first; empty where there is nothing to do any more.
  std::vector<GpuQuery*> take();
  /// What a GPU took and could not answer: another one takes it next.
  void give_back(std::span<GpuQuery* const> queries);
  /// Nothing more is handed out.
  void stop();
  bool empty() const;
  /// Batches that the queries were to make when the queue was made.
  std::size_t batches() const { return batches_; }

 private:
  std::uint64_t cost_of(const GpuQuery& query) const { return query.postings + fixed_cost_; }

  const std::uint64_t fixed_cost_;
  std::size_t batches_ = 0;
  std::size_t batch_queries_ = 0;  ///< a batch ends with so many queries,
  std::uint64_t batch_cost_ = 0;   ///< or when it comes to this cost
  mutable std::mutex mutex_;
  std::vector<GpuQuery*> waiting_;  ///< cheapest first: taken from the end
};

}  // namespace quern
