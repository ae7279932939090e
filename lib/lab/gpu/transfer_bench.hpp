#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/store/word_parts.hpp"

/// Measures how long bytes take from the host's memory to a GPU's: t(S_b) of Wang et al. 4.2.1.
namespace quern {

struct TransferTime {
  std::uint64_t bytes = 0;
  double us = 0;       ///< until the bytes are there; the median over the repeats, like the next
  double host_us = 0;  ///< of these, in which the host's thread can do nothing else
};

/// One copy of so many bytes from pinned memory. Throws CudaError.
TransferTime measure_pinned_copy(unsigned gpu, std::uint64_t bytes, unsigned repeats);

namespace gpu {
/// Waits until all that was copied to the store's lists is there. Throws CudaError.
void wait_for_copies(DeviceListStore& store);
/// Copies words to the room for windows, to one half of it after the other.
void copy_windows(DeviceListStore& store, std::span<const std::vector<WordPart>> windows);
}  // namespace gpu

/// Copies lists as the engine does when a batch lacks them, whole or by windows of documents. Nothing else runs
/// meanwhile.
class TransferBench {
 public:
  /// `queries`: lists are copied in the order in which these need them, each once. Takes memory for half of the index's
  /// lists on the GPU. Throws as DeviceIndex and DeviceListStore do.
  TransferBench(const QueryEngine& engine, unsigned gpu, gpu::ListTransfers transfers,
                std::span<const std::vector<WeightedList>> queries, Progress& progress);
  TransferBench(const TransferBench&) = delete;
  TransferBench& operator=(const TransferBench&) = delete;

  /// Copies lists that take at most `bytes` together, as many as fit the memory; at least the smallest. Throws
  /// CudaError.
  TransferTime measure(std::uint64_t bytes, unsigned repeats);
  /// The same as windows copy: to one half of the memory after the other, each filled with what follows. A thread of
  /// its own does that in the engine, so that `host_us` is 0.
  TransferTime measure_windows(std::uint64_t bytes, unsigned repeats);

 private:
  std::vector<const PostingList*> lists_of(std::uint64_t words) const;
  /// Of all lists, as many words as a window has at most, and so on, at most `words` in all.
  std::vector<std::vector<gpu::WordPart>> windows_of(std::uint64_t words) const;

  gpu::DeviceIndex index_;
  gpu::DeviceListStore store_;
  bool with_impacts_;
  std::vector<const PostingList*> lists_;
};

}  // namespace quern
