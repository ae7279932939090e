#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/gpu/batch_runner.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// What a GPU made of queries, and where the time went.
struct GpuStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t on_cpu = 0;     ///< queries that the CPU answered, since they are beyond what the GPU takes
  std::uint64_t run_again = 0;  ///< queries for which too many documents came into question at first
  double prepare_us = 0;        ///< terms, lists and batches, on the CPU
  gpu::BatchTimes device;       ///< of all batches
};

/// How queries go to a GPU.
struct GpuOptions {
  unsigned gpu = 0;
  std::size_t batch_queries = 16384;  ///< at most so many at a time
};

/// Answers queries on a GPU, with the very results of QueryEngine.
class GpuEngine {
 public:
  /// Copies the index to the GPU. Throws CudaError where there is none, or too little memory on it; InvalidArgument
  /// where it does not know the index's codec.
  GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress);

  /// The k best documents of each query, best first.
  std::vector<std::vector<ScoredDocument>> search(std::span<const std::string_view> texts,
                                                  const QueryAlgorithm& algorithm, std::size_t k,
                                                  GpuStatistics* statistics = nullptr);
  /// Queries that are answered together from now on, at most.
  void set_batch_queries(std::size_t queries) { options_.batch_queries = queries; }
  std::uint64_t device_bytes() const { return index_.bytes(); }

 private:
  struct Prepared;
  struct Flight;
  void answer(std::span<Prepared> all, const gpu::BatchWork& work, GpuStatistics& statistics);
  /// Starts a batch with the first of these queries; returns how many it took.
  std::size_t launch(Flight& flight, std::span<Prepared* const> queries, const gpu::BatchWork& work);
  void land(Flight& flight, std::vector<Prepared*>& again, GpuStatistics& statistics);

  const QueryEngine& engine_;
  GpuOptions options_;
  gpu::DeviceIndex index_;
  std::vector<gpu::BatchRunner> runners_;
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that began last
};

}  // namespace quern
