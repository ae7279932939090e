#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/store/list_store.hpp"

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
void wait_for_copies(ListStore& store);
}  // namespace gpu

/// Copies lists as the engine does when a batch lacks them: gathered by host threads into pieces of pinned memory, and
/// moved to their places on the GPU. Nothing else runs meanwhile.
class ListTransfers {
 public:
  /// `queries`: lists are copied in the order in which these need them, each once. Takes memory for half of the index's
  /// lists on the GPU. Throws as DeviceIndex and ListStore do.
  ListTransfers(const QueryEngine& engine, unsigned gpu, std::span<const std::vector<WeightedList>> queries,
                Progress& progress);
  ListTransfers(const ListTransfers&) = delete;
  ListTransfers& operator=(const ListTransfers&) = delete;

  /// Copies lists that take at most `bytes` together, as many as fit the memory; at least the smallest. Throws
  /// CudaError.
  TransferTime measure(std::uint64_t bytes, unsigned repeats);

 private:
  std::vector<const PostingList*> lists_of(std::uint64_t words) const;

  gpu::DeviceIndex index_;
  gpu::ListStore store_;
  std::vector<const PostingList*> lists_;
};

}  // namespace quern
