#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <mutex>

#include "quern/core/named.hpp"

/// What a GPU's memory, and the host memory that copies pin, is used for, and how much may be. Host code.
namespace quern::gpu {

enum class MemoryUse : std::uint8_t {
  tables,
  rows,
  lists,
  staging,
  entries,
  batch,
  working,
  documents,
  rankers,
  pinned
};

inline constexpr std::array<NamedValue<MemoryUse>, 10> memory_uses = {{
    {"tables", MemoryUse::tables, "numbers per document"},
    {"rows", MemoryUse::rows, "block rows"},
    {"lists", MemoryUse::lists, "coded lists and impacts"},
    {"staging", MemoryUse::staging, "lists on their way to their place"},
    {"entries", MemoryUse::entries, "decoded lists"},
    {"batch", MemoryUse::batch, "queries and results"},
    {"working", MemoryUse::working, "working memory of the strategy"},
    {"documents", MemoryUse::documents, "documents of the forward file"},
    {"rankers", MemoryUse::rankers, "learned models"},
    {"pinned", MemoryUse::pinned, "host memory, from and to which copies go"},
}};

/// Bytes by what they are used for.
using MemoryTable = std::array<std::uint64_t, memory_uses.size()>;

/// The GPU's memory in a table: all but what is pinned on the host.
std::uint64_t on_gpu(const MemoryTable& table);

/// Counts allocations, all of a GPU's memory or all of pinned memory, and refuses those beyond a limit. Several threads
/// may allocate: one that brings windows of documents needs pinned memory while results of another batch are taken.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) : limit_(limit) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// The bytes that an allocation of `bytes` takes.
  static constexpr std::uint64_t rounded(std::uint64_t bytes) {
    constexpr std::uint64_t granularity = 512;
    return (bytes + granularity - 1) / granularity * granularity;
  }

  /// To be called before other threads allocate.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  std::uint64_t left() const { return limit_ - taken(); }
  /// To be read when no other thread allocates.
  const MemoryTable& peak() const { return peak_; }

  /// Counts an allocation. Throws GpuOutOfMemory if the limit does not allow it.
  void take(MemoryUse use, std::uint64_t bytes);
  void give_back(MemoryUse use, std::uint64_t bytes) noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t limit_, taken_ = 0;
  MemoryTable now_{}, peak_{};  ///< by use
};

}  // namespace quern::gpu
