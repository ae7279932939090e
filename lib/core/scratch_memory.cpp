#include "quern/core/scratch_memory.hpp"

namespace quern {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_buffers = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool keeps_buffers = false;
#else
constexpr bool keeps_buffers = true;
#endif
#else
constexpr bool keeps_buffers = true;
#endif

/// A node of the free list, stored in the unused buffer itself.
struct KeptBuffer {
  KeptBuffer* next;
};

/// A thread's free list of one kind of buffer.
struct KeptBuffers {
  KeptBuffer* first = nullptr;
  std::size_t count = 0;

  KeptBuffers() = default;
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;
  ~KeptBuffers() {
    while (first != nullptr) ::operator delete(take());
  }

  void* take() {
    --count;
    return std::exchange(first, first->next);
  }
  void keep(void* memory) {
    ++count;
    first = new (memory) KeptBuffer{first};
  }
};

thread_local std::array<KeptBuffers, ScratchMemory::kinds.size()> kept_buffers;

}  // namespace

void* ScratchMemory::take(std::size_t bytes) {
  const std::size_t kind = keeps_buffers ? kind_of(bytes) : kinds.size();
  if (kind == kinds.size()) return ::operator new(bytes);
  KeptBuffers& kept = kept_buffers[kind];
  return kept.first != nullptr ? kept.take() : ::operator new(kinds[kind].bytes);
}

void ScratchMemory::give_back(void* memory, std::size_t bytes) noexcept {
  const std::size_t kind = keeps_buffers ? kind_of(bytes) : kinds.size();
  if (kind == kinds.size() || kept_buffers[kind].count >= kinds[kind].max_kept)
    ::operator delete(memory);
  else
    kept_buffers[kind].keep(memory);
}

}  // namespace quern
