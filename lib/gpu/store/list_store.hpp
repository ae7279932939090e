#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// The lists that are in a GPU's memory, if it is smaller than the index. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// Keeps a ListCache's lists in device memory and copies what is missing: gathered in pinned memory, in a stream of its
/// own, beside the kernels of the batch before, and from there to its places by a kernel. Used by one thread.
class ListStore {
 public:
  /// Allocates what the index's MemoryDivision says. Keeps the plan's fronts as far as they take no more than three
  /// quarters, and warns of those that do not fit. Throws GpuOutOfMemory; CorruptFile for a plan of lists that the
  /// index does not have.
  ListStore(const DeviceIndex& index, const GpuMemoryOptions& memory, Progress& progress);
  ListStore(ListStore&&) noexcept;
  ~ListStore();

  /// Makes lists whole for a batch, and sets their places in their views. Returns before they have been copied. False,
  /// and nothing acquired, if they do not fit beside those of other batches.
  bool acquire(unsigned flight, std::span<const WantedList> lists);
  /// To be called once the batch's kernels have ended.
  void release(unsigned flight);
  const ListCache& cache() const { return cache_; }
  ListCacheCounts take_counts() { return cache_.take_counts(); }
  /// Microseconds of the GPU's clock that the copies took for the flight's last acquire(), once its batch has ended.
  double copy_us(unsigned flight) const;

  struct Device;  ///< for CUDA sources only
  const Device& device() const { return *device_; }

 private:
  void keep_plan(const CachePlan& plan, Progress& progress);

  const DeviceIndex& index_;
  ListCache cache_;
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
