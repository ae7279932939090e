#include "quern/gpu/device/memory_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/size_text.hpp"

namespace quern::gpu {

std::uint64_t on_gpu(const MemoryTable& table) {
  return std::accumulate(table.begin(), table.end(), std::uint64_t{0}) -
         table[static_cast<std::size_t>(MemoryUse::pinned)];
}

void MemoryAccount::take(MemoryUse use, std::uint64_t bytes) {
  const std::uint64_t more = rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (taken_ > limit_ || more > limit_ - taken_)
    throw GpuOutOfMemory(use == MemoryUse::pinned
                             ? fmt::format("{} more of pinned host memory: {} of {} are taken; {} limits it",
                                           size_text(more), size_text(taken_), size_text(limit_), option_name<"memory">)
                             : fmt::format("{} more of GPU memory for {}: {} of {} are taken", size_text(more),
                                           name_of_value(memory_uses, use), size_text(taken_), size_text(limit_)));
  taken_ += more;
  std::uint64_t& now = now_[static_cast<std::size_t>(use)];
  now += more;
  std::uint64_t& most = peak_[static_cast<std::size_t>(use)];
  most = std::max(most, now);
}

void MemoryAccount::give_back(MemoryUse use, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  taken_ -= rounded(bytes);
  now_[static_cast<std::size_t>(use)] -= rounded(bytes);
}

}  // namespace quern::gpu
