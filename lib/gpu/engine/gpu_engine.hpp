#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <span>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/gpu/engine/ranking_share.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// How queries go to GPUs.
struct GpuOptions {
  unsigned gpu = 0;
  std::size_t batch_queries = 16384;  ///< at most, on each GPU
  unsigned gpus = 1;                  ///< GPUs from number `gpu` on; 0: all
  const gpu::Strategy* strategy = &gpu::all_strategies().front();
  gpu::StrategyOptions of_strategy = {};
};

/// Answers queries on one or several GPUs, with the very results of QueryEngine. Each GPU has the whole index; a thread
/// for each takes batches from one queue. A GPU that fails is left out from then on, and the others answer what it had;
/// if none is left, search() throws its error. One thread at a time uses an engine.
class GpuEngine {
 public:
  /// Copies the index to the GPUs, to all at a time. Throws CudaError if there is none, or too little memory on one;
  /// InvalidArgument if there are fewer, or if there is no decoder for the index's codec.
  GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress);

  /// The k best documents of each query, best first. Throws CudaError where no GPU is left, CorruptFile where lists
  /// don't decode.
  std::vector<std::vector<ScoredDocument>> search(std::span<const std::string_view> texts,
                                                  const QueryAlgorithm& algorithm, std::size_t k,
                                                  GpuStatistics* statistics = nullptr);
  /// Queries that are answered together from now on, at most.
  void set_batch_queries(std::size_t queries) { options_.batch_queries = queries; }
  /// How batches are answered from now on. Throws CudaError where its room does not fit: then another must be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Leaves GPUs idle from now on but the first ones.
  void use_gpus(std::size_t gpus) { used_ = gpus; }
  /// GPUs that have not failed.
  std::size_t gpus() const { return shares_.size(); }
  /// Taken of each GPU's memory.
  std::uint64_t device_bytes() const { return shares_.front().device_bytes(); }

 private:
  std::vector<GpuQuery> prepare(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                                std::size_t k);
  void answer(std::span<GpuQuery> all, const gpu::BatchWork& work, GpuStatistics& statistics);
  /// All GPUs answer what is in the queue. Returns the queries that must run again.
  std::vector<GpuQuery*> process(QueryQueue& queue, const gpu::BatchWork& work, GpuStatistics& statistics);
  void answer_on_cpu(std::span<const std::string_view> texts, std::span<GpuQuery> queries,
                     const QueryAlgorithm& algorithm, std::size_t k);

  const QueryEngine& engine_;
  GpuOptions options_;
  tbb::enumerable_thread_specific<Analyzer> analyzers_;
  gpu::GpuShares<RankingShare> shares_;
  std::size_t used_ = 0;  ///< the first of them, this many
};

}  // namespace quern
