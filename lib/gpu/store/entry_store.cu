#include <algorithm>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/entry_place.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/entry_store.hpp"

namespace quern::gpu {
namespace {

/// Less than this is of no use to any batch.
constexpr std::uint64_t min_bytes = 1 << 20;

}  // namespace

struct EntryStore::Device {
  DeviceArray<std::uint32_t> words;
};

EntryStore::EntryStore(const DeviceIndex& index, std::uint64_t bytes) : device_(std::make_unique<Device>()) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index.gpu())));
  for (;; bytes /= 2) {
    try {
      device_->words = DeviceArray<std::uint32_t>(account_, MemoryUse::entries, bytes / sizeof(std::uint32_t));
      break;
    } catch (const GpuOutOfMemory&) {
      if (bytes / 2 < min_bytes) throw;
    }
  }
  // Entries are read four at a time, beyond the last of a list.
  CUDA_CHECK(cudaMemset(device_->words.data(), 0, device_->words.size_bytes()));
  const IndexReader& of = index.index();
  cache_ = std::make_unique<EntryCache>(device_->words.size(), num_ranges(of.num_documents()));
  if (bytes >= all_entry_bytes(of)) cache_->set_has_all_lists();
}

EntryStore::~EntryStore() = default;

std::uint32_t* EntryStore::arena() const { return device_->words.data(); }

}  // namespace quern::gpu
