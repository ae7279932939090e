#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/pinned_words.hpp"

namespace quern::gpu {
namespace {

/// What one call pins. Other threads' calls wait meanwhile.
constexpr std::size_t bytes_at_once = 64 << 20;
constexpr unsigned how_registered = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;

/// The whole pages within the words.
std::span<const std::byte> pages_of(std::span<const std::uint32_t> words) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(words.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + words.size_bytes()) / page * page;
  if (first >= last) return {};
  return {reinterpret_cast<const std::byte*>(first), last - first};
}

int attribute(cudaDeviceAttr name) {
  int gpu = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&gpu));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, name, gpu));
  return value;
}

bool can_read_mapped_files() {
  return attribute(cudaDevAttrHostRegisterReadOnlySupported) != 0 &&
         attribute(cudaDevAttrCanUseHostPointerForRegisteredMem) != 0;
}

}  // namespace

std::shared_ptr<const PinnedWords> PinnedWords::pin(std::span<const std::uint32_t> mapped) {
  // Memory can be registered only once, but several GPUs and engines may read the same index.
  static std::mutex mutex;
  static std::map<const std::byte*, std::weak_ptr<const PinnedWords>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& each) { return each.second.expired(); });
  const std::span<const std::byte> pages = pages_of(mapped);
  std::weak_ptr<const PinnedWords>& known = all[pages.data()];
  if (auto shared = known.lock(); shared && shared->pages_.size() == pages.size()) return shared;
  if (!can_read_mapped_files()) return nullptr;
  const std::shared_ptr<PinnedWords> words(new PinnedWords(pages));
  if (!words->register_pages()) return nullptr;
  known = words;
  return words;
}

bool PinnedWords::register_pages() {
  while (registered_ < pages_.size()) {
    const std::size_t bytes = std::min(bytes_at_once, pages_.size() - registered_);
    if (cudaHostRegister(const_cast<std::byte*>(pages_.data()) + registered_, bytes, how_registered) != cudaSuccess) {
      cudaGetLastError();  // clears the error, which the next call would report again
      return false;
    }
    registered_ += bytes;
  }
  return true;
}

PinnedWords::~PinnedWords() {
  for (std::size_t at = 0; at < registered_; at += bytes_at_once)
    cudaHostUnregister(const_cast<std::byte*>(pages_.data()) + at);
  cudaGetLastError();
}

}  // namespace quern::gpu
