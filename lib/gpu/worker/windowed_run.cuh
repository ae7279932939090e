#pragma once
#include <span>

#include "quern/gpu/device/device_index_view.cuh"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {

/// A strategy that answers a window of documents as it answers all of them: it finds the k best documents of the window
/// (BatchView::first_docid to end_docid) for each query, and these are merged with those of the windows before. Only
/// what cannot be among the k best of all may be left out (BatchView::limits).
class WindowedRun : public StrategyRun {
 public:
  WindowedRun(const DeviceIndex& index, MemoryAccount& account)
      : device_(index.device()),
        results_(account, MemoryUse::working),
        limits_(account, MemoryUse::working),
        num_results_(account, MemoryUse::working) {}

  void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
           const Stream& stream) final {
    find(index, view, batch, batch.lists, work, stream);
  }
  void prepare_windows(const OwnArrays& arrays, const QueryBatch& batch, const BatchWork& work,
                       const Stream& stream) final;
  void run_window(const IndexView& index, const BatchView& view, const WindowLists& lists, const BatchWork& work,
                  const Stream& stream) final;
  void free_memory() override;

 protected:
  const DeviceIndex::Device& device() const { return device_; }
  /// Enqueues the kernels that write the results of the view's window. `lists`: BatchView::lists, in host memory.
  /// Called once for all documents, or for one window after another; prepare() has reserved what does not depend on
  /// windows.
  virtual void find(const IndexView& index, const BatchView& view, const QueryBatch& batch,
                    std::span<const ListView> lists, const BatchWork& work, const Stream& stream) = 0;

 private:
  const DeviceIndex::Device& device_;
  const QueryBatch* batch_ = nullptr;  ///< that goes through windows
  DeviceArray<RankKey> results_, limits_;
  DeviceArray<std::uint32_t> num_results_;
  bool is_first_ = true;  ///< no window has been answered yet
};

}  // namespace quern::gpu
