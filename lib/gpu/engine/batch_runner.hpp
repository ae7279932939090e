#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/gpu/engine/pruning.hpp"
#include "quern/gpu/engine/query_batch.hpp"
#include "quern/gpu/engine/strategy.hpp"

/// Runs batches of queries on a GPU. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// What a GPU does with a batch.
struct BatchWork {
  bool intersect = false;           ///< find documents with all terms, not with any
  Pruning pruning = Pruning::none;  ///< of unions
  std::size_t k = 10;
};

/// Results per query, at most.
inline constexpr std::size_t max_results = 2048;

/// A query's answer, complete or not.
struct BatchAnswer {
  std::vector<ScoredDocument> documents;
  bool complete = true;         ///< false: there were more candidates than the GPU keeps
  std::uint32_t min_units = 0;  ///< if not complete: no result has fewer units; run the query again with this
};

/// Runs one batch at a time, in a stream of its own: with two runners one batch is copied while the other is answered.
/// Throws CudaError if the GPU fails, CorruptFile if blocks don't decode.
class BatchRunner {
 public:
  /// Throws CudaError if the strategy's working memory doesn't fit.
  explicit BatchRunner(const DeviceIndex& index, const Strategy& strategy = all_strategies().front(),
                       const StrategyOptions& options = {});
  BatchRunner(BatchRunner&&) noexcept;
  ~BatchRunner();

  /// Enqueues the batch and returns. Its kernels wait for those of `after`, if given: two batches that share a GPU are
  /// both finished later.
  void start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after = nullptr);
  /// Waits for the batch.
  void wait();
  /// After wait(): the answer to a query, by its place in the batch. Thread-safe.
  BatchAnswer answer(std::uint32_t place) const;
  /// Waits for what is under way and forgets it, failures too: the runner may start again if the GPU can.
  void abandon() noexcept;
  const BatchTimes& times() const;
  BatchCounts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
