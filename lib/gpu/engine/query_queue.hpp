#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quern/gpu/engine/pipeline.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// A query on its way to a GPU and back. Who took it from a QueryQueue owns it.
struct GpuQuery {
  std::size_t number = 0;  ///< among those that are answered together
  std::vector<WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
};

/// Queries that wait for a GPU, the most expensive first, so that the last thread blocks have little to do.
class QueryQueue : public gpu::WorkQueue<GpuQuery> {
 public:
  /// Batches have at most `max_queries`. For one GPU they are of equal size: while one runs the next is made. For
  /// several GPUs they cost the same, postings plus `fixed_cost` per query, and each GPU gets a few, so that all end
  /// together.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost);

  /// Batches that the queries were to make when the queue was made.
  std::size_t batches() const { return batches_; }

 private:
  std::size_t batches_ = 0;
};

}  // namespace quern
