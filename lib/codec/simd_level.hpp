#pragma once
#include <string_view>
#include <vector>

/// The instructions that decoders use: those of the build's baseline, or wider ones where the processor has them.
namespace quern {

enum class SimdLevel {
  portable,  ///< plain C++
  avx2,
  avx512,  ///< with byte permutations (VBMI): Ice Lake, Zen 4 and later
};

std::string_view name_of(SimdLevel level);

/// What this build and this processor can do, from portable up.
const std::vector<SimdLevel>& simd_levels();

/// The level of decoders that are made from now on; the best one unless it was set.
SimdLevel simd_level();

/// For tests and benchmarks. Throws InvalidArgument where the level isn't among simd_levels().
void set_simd_level(SimdLevel level);

}  // namespace quern
