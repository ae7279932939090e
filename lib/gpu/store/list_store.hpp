#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/store/entry_cache.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// The lists that are in a GPU's memory, if it is smaller than the index. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// Keeps a ListCache's lists in device memory and copies what is missing, in a stream of its own, beside the kernels of
/// the batch before: a kernel moves it to its places from pinned memory, in which threads of the host gather it, or
/// from where the index's file is mapped (ListTransfers). Used by one thread.
class DeviceListStore {
 public:
  /// Allocates what the index's MemoryDivision says. Keeps the plan's fronts as far as they take no more than three
  /// quarters, and warns of those that do not fit. Throws GpuOutOfMemory; CorruptFile for a plan of lists that the
  /// index does not have; OutOfMemory or CudaError if transfers are to be direct, but can't be.
  DeviceListStore(const DeviceIndex& index, const GpuMemoryOptions& memory, Progress& progress);
  DeviceListStore(DeviceListStore&&) noexcept;
  ~DeviceListStore();

  /// Makes lists whole for a batch, and sets their places in their views. Returns before they have been copied. False,
  /// and nothing acquired, if they do not fit beside those of other batches. If transfers are direct, lists of which
  /// the batch reads few blocks, and what does not fit, are not copied but read in place, where the index's file is
  /// mapped.
  bool acquire(unsigned flight, std::span<const WantedList> lists);
  /// Whether lists, but for those that acquire() would read in place since few of their blocks are read, take no more
  /// than a batch may plan for: half of what all batches can have.
  bool fit(std::span<const WantedList> lists) const;
  /// Lets those be read in place, if transfers are direct, of which a batch reads few blocks. Returns the others.
  std::vector<WantedList> without_rarely_read(std::span<const WantedList> lists);
  /// See ListCache. Thread: the one that acquires.
  void use_front(const PostingList& front, ListView& view) { cache_.use_front(front, view); }
  /// To be called once the batch's kernels have ended.
  void release(unsigned flight);
  /// Gives all of the arena but the plan's fronts to windows of documents, of which each has half of it. To be called
  /// for each batch with windows. False if another flight's batch uses lists. Lists can be acquired again once no
  /// flight has windows.
  bool open_windows(unsigned flight);
  bool has_room_for_windows() const { return room_.has_value(); }
  /// Words that a window may have, if the room is open.
  std::uint64_t words_per_window() const { return room_->words / 2; }
  /// Adds what windows brought to the counts.
  void count(const ListCacheCounts& more) { cache_.count(more); }
  const ListCache& cache() const { return cache_; }
  ListCacheCounts take_counts();
  /// Microseconds of the GPU's clock that copies of what the flight's last batch lacked took, without what they waited
  /// for, once the batch has ended.
  double copy_us(unsigned flight) const;

  struct Device;  ///< for CUDA sources only
  const Device& device() const { return *device_; }
  Device& device() { return *device_; }

 private:
  /// Pins the index's lists, if that is allowed and pays by now. No other thread may be copying.
  void choose_transfers();
  /// Pins them. Throws OutOfMemory if too little host memory may be pinned, CudaError if the GPU can't read them.
  void pin_lists();
  /// Lets a list be read in place. False if it can't be.
  bool read_in_place(const WantedList& wanted);
  /// Whether a list could be read in place.
  bool can_be_in_place(const WantedList& wanted) const;
  /// Lets the largest be read in place, so that the others fit beside as much for another batch.
  void read_largest_in_place(std::vector<WantedList>& lists);
  void keep_plan(const CachePlan& plan, Progress& progress);

  const DeviceIndex& index_;
  ListCache cache_;
  ListTransfers transfers_;
  ListCacheCounts in_place_;
  std::optional<ArenaPart> room_;                      ///< of windows
  std::array<bool, batches_in_flight> has_windows_{};  ///< by flight
  std::unique_ptr<Device> device_;
};

// The decoded lists in a GPU's memory. Declared without CUDA, as DeviceIndex is.

/// An EntryCache with its arena, which both flights' batches share. Used by one thread.
class EntryStore {
 public:
  /// Allocates the arena: `bytes`, or as large a part of that as the GPU has. Throws GpuOutOfMemory if that is hardly
  /// any.
  EntryStore(const DeviceIndex& index, std::uint64_t bytes);
  ~EntryStore();

  EntryCache& cache() { return *cache_; }
  const EntryCache& cache() const { return *cache_; }
  std::uint64_t bytes() const { return account_.taken(); }
  /// The first word of the arena, in GPU memory.
  std::uint32_t* arena() const;

 private:
  struct Device;
  MemoryAccount account_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<EntryCache> cache_;
};

}  // namespace quern::gpu
