#pragma once
#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/store/extents.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/lab/measuring.hpp"

/// Measures copies from the host's memory to a GPU's: t(S_b) of Wang et al. 4.2.1.
namespace quern {

struct TransferTime {
  std::uint64_t bytes = 0;
  double us = 0;       ///< until the copy ends; median over the repeats, like the next
  double host_us = 0;  ///< part of it that occupies the host's thread
};

/// The times of copies of `bytes` bytes, after one that warms up. copy() begins one, wait() waits for it, and end() is
/// not measured.
template <class Copy, class Wait, class End>
TransferTime time_copies(std::uint64_t bytes, unsigned repeats, Copy&& copy, Wait&& wait, End&& end) {
  std::vector<double> us, host_us;
  for (unsigned repeat = 0; repeat <= repeats; ++repeat) {
    const auto begun = WallClock::now();
    copy();
    const double host = us_since(begun);
    wait();
    const double all = us_since(begun);
    end();
    if (repeat == 0) continue;
    us.push_back(all);
    host_us.push_back(host);
  }
  return {bytes, median(us), median(host_us)};
}

/// Measures one copy of `bytes` bytes from pinned memory. Throws CudaError.
TransferTime measure_pinned_copy(unsigned gpu, std::uint64_t bytes, unsigned repeats);

/// The bandwidth of a GPU's memory, in bytes per second: the median of several copies of 512 MiB within it, counting
/// bytes read and written. Throws CudaError if the GPU fails or has too little memory.
double measure_copy_speed(unsigned number);

namespace gpu {
/// Waits for all copies to the store's lists. Throws CudaError.
void wait_for_copies(DeviceListStore& store);
/// Copies words to the two halves of the memory for windows in turn.
void copy_windows(DeviceListStore& store, std::span<const std::vector<WordCopy>> windows);
}  // namespace gpu

/// Copies lists like the engine does for a batch, whole or by windows of documents, while nothing else runs.
class TransferBench {
 public:
  /// `queries`: lists are copied in the order of their first use here, each once. Takes GPU memory for half of the
  /// index's lists. Throws like DeviceIndex and DeviceListStore.
  TransferBench(const QueryEngine& engine, unsigned gpu, gpu::ListTransfers transfers,
                std::span<const std::vector<WeightedList>> queries, Progress& progress);

  /// Copies lists of at most `bytes` bytes in all, as many as fit in memory, but at least the smallest. Throws
  /// CudaError.
  TransferTime measure(std::uint64_t bytes, unsigned repeats);
  /// Copies lists as windows: fills the two halves of the memory in turn. In the engine, a separate thread does that,
  /// so `host_us` is 0.
  TransferTime measure_windows(std::uint64_t bytes, unsigned repeats);

 private:
  std::vector<const PostingList*> lists_of(std::uint64_t words) const;
  /// Cuts the words of all lists, at most `words`, into windows of maximum size.
  std::vector<std::vector<gpu::WordCopy>> windows_of(std::uint64_t words) const;

  gpu::DeviceIndex index_;
  gpu::DeviceListStore store_;
  bool with_impacts_;
  std::vector<const PostingList*> lists_;
};

}  // namespace quern
