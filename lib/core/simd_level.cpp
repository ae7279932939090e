#include "quern/core/simd_level.hpp"

#include <atomic>
#include <fstream>

#include "quern/core/error.hpp"

namespace quern {
namespace {

std::vector<SimdLevel> find_levels() {
  std::vector<SimdLevel> levels = {SimdLevel::portable};
#if defined(__AVX2__)
  levels.push_back(SimdLevel::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
    levels.push_back(SimdLevel::avx512);
#endif
  return levels;
}

std::atomic<SimdLevel>& current_level() {
  static std::atomic<SimdLevel> level{simd_levels().back()};
  return level;
}

}  // namespace

std::string_view name_of(SimdLevel level) {
  switch (level) {
    case SimdLevel::avx512:
      return "avx512";
    case SimdLevel::avx2:
      return "avx2";
    default:
      return "portable";
  }
}

const std::vector<SimdLevel>& simd_levels() {
  static const std::vector<SimdLevel> levels = find_levels();
  return levels;
}

SimdLevel simd_level() { return current_level().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) {
  if (std::find(simd_levels().begin(), simd_levels().end(), level) == simd_levels().end())
    throw InvalidArgument("this processor has no " + std::string(name_of(level)));
  current_level().store(level, std::memory_order_relaxed);
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

}  // namespace quern
