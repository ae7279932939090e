#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/strategy.hpp"

/// Runs batches of queries on a GPU. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// Maximum results per query.
inline constexpr std::size_t max_results = 2048;

/// A query's answer, complete or not.
struct BatchAnswer {
  std::vector<ScoredDocument> documents;
  bool complete = true;         ///< false: the query had more candidates than the GPU stores
  std::uint32_t min_units = 0;  ///< if not complete: the threshold that was reached, with which to run the query again
};

/// Runs one batch at a time in its own stream. With two runners, one batch is copied while the other is answered.
/// Throws CudaError if the GPU fails, CorruptFile if blocks don't decode.
class BatchRunner {
 public:
  /// `store`: of the lists, null if the index has them all. Both must outlive the runner. Throws GpuOutOfMemory if the
  /// strategy's working memory doesn't fit.
  BatchRunner(const DeviceIndex& index, const DeviceListStore* store,
              const Strategy& strategy = all_strategies().front(), const StrategyOptions& options = {});
  BatchRunner(BatchRunner&&) noexcept;
  ~BatchRunner();

  /// Where lists are decoded to, for strategies that do. It must outlive the runner; half of its memory counts as the
  /// runner's.
  void use_entries(const EntryStore& entries);
  /// Enqueues the batch and returns. Its kernels wait for the lists that the store copies for it, and for the kernels
  /// of `after`, the batch that was started last, if given: they may need what these decode, and two large batches that
  /// share the GPU would both finish later. With `overlaps` they don't wait for them; what both take at the same time
  /// is then in the times of one of them. Throws GpuOutOfMemory if the batch needs more than
  /// DeviceIndex::bytes_per_batch(); the runner must then be abandoned, and can run a smaller one.
  void start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after = nullptr, bool overlaps = false);
  /// Starts a batch whose lists come by windows of documents: copies the queries and reserves all memory that it needs.
  /// Throws as start() does.
  void begin_windows(const QueryBatch& batch, const BatchWork& work);
  /// Then copies one window after another and enqueues its kernels, and returns after the last. Takes the place of what
  /// the store does for other batches; the flight must have open_windows(). May be called by another thread.
  /// `first_entry`: where there is room for decoded lists. `after`: as in start().
  void run_windows(const BatchWork& work, const DocumentWindows& windows, DeviceListStore& store, unsigned flight,
                   std::uint64_t first_entry, const BatchRunner* after);
  /// Waits until the batch's kernels have ended: then it reads no lists any more.
  void wait_for_kernels();
  /// Waits until the batch has finished, and the kernels of one that it overlaps with.
  void wait();
  /// The answer to the query at this place in the batch, after wait(). Thread-safe.
  BatchAnswer answer(std::uint32_t place) const;
  /// Waits for the current batch and drops its errors. If the GPU still works, start() can be called again.
  void abandon() noexcept;
  /// Frees what batches have reserved, except for what the strategy allocated once. No batch may be running.
  void free_memory();
  /// What a batch may take: DeviceIndex::bytes_per_batch() less what the runner, its strategy and decoded lists keep.
  std::uint64_t bytes_for_batches() const;
  /// The most GPU memory that batches took, by its use.
  const MemoryTable& memory() const;
  /// Times of the last batch, after wait().
  const BatchTimes& times() const;
  /// Counts of the last batch.
  BatchCounts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
