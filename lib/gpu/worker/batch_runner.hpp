#pragma once
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/strategy.hpp"

/// Runs batches of queries on a GPU. Declared without CUDA, like DeviceIndex.
namespace quern::gpu {

/// Maximum results per query.
inline constexpr std::size_t max_results = 2048;

struct BatchAnswer {
  std::vector<ScoredDocument> documents;
  bool complete = true;         ///< false: the query had more candidates than the GPU stores
  std::uint32_t min_units = 0;  ///< if not complete, the threshold reached, with which to run the query again
};

/// Runs one batch at a time in its own stream, so that with two runners one batch is copied while the other is
/// answered. Throws CudaError if the GPU fails, CorruptFile if blocks don't decode.
class BatchRunner {
 public:
  virtual ~BatchRunner() = default;

  /// Sets the memory for decoded lists, which must outlive the runner. Half of it counts as the runner's.
  virtual void use_entries(const EntryStore& entries) = 0;
  /// Enqueues the batch and returns. Its kernels wait for the store's copies and for the kernels of `after`, the last
  /// started batch: they may need lists that these decode, and two large batches that share the GPU would both finish
  /// later. With `overlaps` they don't wait for `after`; the time of overlap counts for one batch only. Throws
  /// GpuOutOfMemory if the batch needs more than DeviceIndex::bytes_per_batch(); abandon() it then.
  virtual void start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after, bool overlaps) = 0;
  /// Begins a batch that runs in windows of documents: copies the queries and reserves memory. Throws like start().
  virtual void begin_windows(const QueryBatch& batch, const BatchWork& work) = 0;
  /// Then copies each window and enqueues its kernels; returns after the last. The store may do nothing else meanwhile,
  /// and its open_windows() must have been called. Any thread may call this. `first_entry`: begin of the room for
  /// decoded lists. `after`: see start().
  virtual void run_windows(const BatchWork& work, const DocumentWindows& windows, DeviceListStore& store,
                           unsigned flight, std::uint64_t first_entry, const BatchRunner* after) = 0;
  /// Waits until the batch's kernels have ended, and so no longer read lists.
  virtual void wait_for_kernels() = 0;
  /// Waits for the batch, and for the kernels of the batch that it overlaps with.
  virtual void wait() = 0;
  /// The answer to the batch's query number `place`, after wait(). Thread-safe.
  virtual BatchAnswer answer(std::uint32_t place) const = 0;
  /// Waits for the current batch and drops its errors. If the GPU still works, start() may be called again.
  virtual void abandon() noexcept = 0;
  /// Frees the memory of batches, but not the strategy's permanent memory. No batch may be running.
  virtual void free_memory() = 0;
  /// Maximum memory of a batch: DeviceIndex::bytes_per_batch() without permanent memory and decoded lists.
  virtual std::uint64_t bytes_for_batches() const = 0;
  /// The peak GPU memory of batches, by use.
  virtual const MemoryTable& memory() const = 0;
  /// Times of the last batch, after wait().
  virtual const BatchTimes& times() const = 0;
  virtual BatchCounts counts() const = 0;
};

/// `store`: the lists', null if the index holds all. Both must outlive the runner. Throws GpuOutOfMemory if the
/// strategy's working memory doesn't fit.
std::unique_ptr<BatchRunner> make_batch_runner(const DeviceIndex& index, const DeviceListStore* store,
                                               const Strategy& strategy, const StrategyOptions& options);

}  // namespace quern::gpu
