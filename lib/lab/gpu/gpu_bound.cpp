#include "quern/lab/gpu/gpu_bound.hpp"

namespace quern {
namespace {

constexpr double banks = 32;
/// Average number of lanes at the busiest bank, if 32 lanes choose banks at random.
constexpr double lanes_per_bank = 3.5;
/// An addition reads and writes.
constexpr double passes = 2;

}  // namespace

GpuLimits limits_of(const GpuInfo& gpu, unsigned number) {
  GpuLimits limits;
  limits.bytes_per_second = measure_copy_speed(number);
  limits.additions_per_second = 1e6 * gpu.clock_mhz * gpu.multiprocessors * banks / lanes_per_bank / passes;
  return limits;
}

std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuLimits& limits) {
  if (counts.decoded == 0 && counts.added == 0) return std::nullopt;
  constexpr double entry_bytes = 4;
  const auto added = static_cast<double>(counts.added);
  // Unions without pruning read all entries; what the others read depends on the results.
  const double read = counts.added > 0 ? static_cast<double>(counts.entries) : 0;
  const double bytes =
      static_cast<double>(counts.list_bytes) + entry_bytes * (static_cast<double>(counts.decoded) + read);
  const GpuBound memory{"device memory", bytes / limits.bytes_per_second};
  const GpuBound additions{"shared memory", added / limits.additions_per_second};
  return memory.seconds >= additions.seconds ? memory : additions;
}

}  // namespace quern
