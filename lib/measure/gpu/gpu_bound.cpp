#include "quern/measure/gpu/gpu_bound.hpp"

#include "quern/measure/gpu/copy_speed.hpp"

namespace quern {
namespace {

constexpr double banks = 32;
/// Lanes of a warp that hit the same bank on average, the bank that is hit most: of 32 random ones.
constexpr double lanes_per_bank = 3.5;
/// An addition reads and writes.
constexpr double passes = 2;

}  // namespace

GpuCeilings upper_bounds_of(const GpuInfo& gpu, unsigned number) {
  GpuCeilings upper_bounds;
  upper_bounds.bytes_per_second = measure_copy_speed(number);
  upper_bounds.additions_per_second = 1e6 * gpu.clock_mhz * gpu.multiprocessors * banks / lanes_per_bank / passes;
  return upper_bounds;
}

std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuCeilings& upper_bounds) {
  if (counts.entries == 0) return std::nullopt;
  constexpr double entry_bytes = 4;
  const auto entries = static_cast<double>(counts.entries), added = static_cast<double>(counts.added);
  const double bytes = static_cast<double>(counts.list_bytes) + entry_bytes * entries * (counts.added > 0 ? 2 : 1);
  const GpuBound memory{"device memory", bytes / upper_bounds.bytes_per_second};
  const GpuBound additions{"shared memory", added / upper_bounds.additions_per_second};
  return memory.seconds >= additions.seconds ? memory : additions;
}

}  // namespace quern
