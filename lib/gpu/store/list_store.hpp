#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
  /// See ListCache. Thread: the one that acquires.
  void use_front(const PostingList& front, ListView& view) { cache_.use_front(front, view); }
  /// To be called once the batch's kernels have ended.
  void release(unsigned flight);
  /// Gives all of the arena but the plan's fronts to windows of documents, of which each has half of it. To be called
  /// for each batch with windows. False if another flight's batch uses lists. Lists can be acquired again once no
  /// flight has windows.
  bool open_windows(unsigned flight);
  /// Words that a window may have; at least this many, if the room is not open yet.
  std::uint64_t words_per_window() const { return (room_ ? room_->words : cache_.free_words()) / 2; }
  /// Adds what windows brought to the counts.
  void count(const ListCacheCounts& more) { cache_.count(more); }
  const ListCache& cache() const { return cache_; }
  ListCacheCounts take_counts() { return cache_.take_counts(); }
  /// Microseconds of the GPU's clock that the copies took for the flight's last acquire(), once its batch has ended.
  double copy_us(unsigned flight) const;

  struct Device;  ///< for CUDA sources only
  const Device& device() const { return *device_; }
  Device& device() { return *device_; }

 private:
  void keep_plan(const CachePlan& plan, Progress& progress);

  const DeviceIndex& index_;
  ListCache cache_;
  std::optional<ArenaPart> room_;                      ///< of windows
  std::array<bool, batches_in_flight> has_windows_{};  ///< by flight
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
