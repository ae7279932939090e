#pragma once
#include "quern/gpu/store/entry_cache.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// The lists in a GPU's memory that is smaller than the index. Declared without CUDA, like DeviceIndex.
namespace quern::gpu {

/// Keeps a ListCache's lists in device memory. Copies missing lists in its own stream, concurrently with the previous
/// batch's kernels: a kernel moves their words from pinned memory, where host threads gather them, or from the mapped
/// index file (ListTransfers). For one thread at a time.
class DeviceListStore {
 public:
  /// Allocates the arenas of the index's MemoryDivision. Keeps the plan's fronts that fit three quarters of them, and
  /// warns of the others. Throws GpuOutOfMemory; CorruptFile if the plan has lists that the index lacks; OutOfMemory or
  /// CudaError if direct transfers were requested but are impossible.
  DeviceListStore(const DeviceIndex& index, const GpuMemoryOptions& memory, Progress& progress);
  ~DeviceListStore();

  /// Makes lists whole for a batch, and sets the places in their views. Returns before they are copied. False, without
  /// effect, if they do not fit beside those of other batches. With direct transfers, lists of which the batch reads
  /// few blocks, and lists that do not fit, are not copied: kernels read them in place in the mapped index file.
  bool acquire(unsigned flight, std::span<const WantedList> lists);
  /// Whether the lists that acquire() would copy fit half of the memory for lists, so that two batches fit.
  bool fit(std::span<const WantedList> lists) const;
  /// With direct transfers, lets lists be read in place of which a batch reads few blocks. Returns the others.
  std::vector<WantedList> without_rarely_read(std::span<const WantedList> lists);
  /// See ListCache. For the thread that acquires.
  void use_front(const PostingList& front, ListView& view) { cache_.use_front(front, view); }
  /// Releases the flight's lists, once its batch's kernels have ended or if its batch was not started.
  void release(unsigned flight) { cache_.release(flight); }
  /// Keeps lists in memory for a batch that will run in windows, as ListCache::hold() does, until release(). Copies
  /// nothing yet.
  void hold(unsigned flight, std::span<const WantedList> lists) {
    held_ = {};
    cache_.hold(flight, lists, held_);
  }
  /// Copies the lists that the batch holds. Call it for each batch before its windows run.
  void open_windows();
  /// Maximum words of a window; 0 if batches can't run in windows.
  std::uint64_t words_per_window() const { return cache_.windows().words / 2; }
  void count(const ListCacheCounts& more) { cache_.count(more); }
  const ListCache& cache() const { return cache_; }
  ListCacheCounts take_counts();
  /// GPU time of the copies for the flight's last batch, which has ended, in microseconds and without waits.
  double copy_us(unsigned flight) const;

  struct Device;  ///< for CUDA sources only
  const Device& device() const { return *device_; }
  Device& device() { return *device_; }

 private:
  /// Pins the index's lists if that is allowed and pays off by now. No other thread may be copying.
  void choose_transfers();
  /// Pins the lists. Throws OutOfMemory if too little host memory may be pinned, CudaError if the GPU can't read them.
  void pin_lists();
  /// Lets a list be read in place; false if that is impossible.
  bool read_in_place(const WantedList& wanted);
  bool can_be_in_place(const WantedList& wanted) const;
  /// Lets the largest lists be read in place, so that the others fit half of the memory for lists.
  void read_largest_in_place(std::vector<WantedList>& lists);
  void keep_plan(const CachePlan& plan, Progress& progress);

  const DeviceIndex& index_;
  ListCache cache_;
  ListTransfers transfers_;
  ListCacheCounts in_place_;
  ListCopies held_;  ///< copies of held lists, to be made by open_windows()
  std::unique_ptr<Device> device_;
};

/// An EntryCache with its arena, which both flights share. For one thread at a time.
class EntryStore {
 public:
  /// Allocates `bytes` bytes, or the largest half, quarter and so on that the GPU has. Throws GpuOutOfMemory.
  EntryStore(const DeviceIndex& index, std::uint64_t bytes);

  EntryCache& cache() { return *cache_; }
  const EntryCache& cache() const { return *cache_; }
  std::uint64_t bytes() const { return account_.taken(); }
  /// The first word of the arena, in GPU memory.
  std::uint32_t* arena() const { return words_.data(); }

 private:
  MemoryAccount account_;
  DeviceArray<std::uint32_t> words_;
  std::unique_ptr<EntryCache> cache_;
};

}  // namespace quern::gpu
