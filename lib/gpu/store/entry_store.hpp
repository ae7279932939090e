#pragma once
#include <cstdint>
#include <memory>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/memory_account.hpp"
#include "quern/gpu/store/entry_cache.hpp"

/// The decoded lists in a GPU's memory. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

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
