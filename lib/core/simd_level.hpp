#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Which instructions the inner loops use that are written once for each level: those of block decoding (lib/codec) and
/// of learned models (lib/rank/models). All levels give the same values.
namespace quern {

/// Those of the build's baseline, or wider ones if the processor has them.
enum class SimdLevel {
  portable,  ///< plain C++
  avx2,
  avx512,  ///< with permutations of bytes (VBMI, VBMI2): Ice Lake, Zen 4 and later
};

std::string_view name_of(SimdLevel level);

/// What this build and this processor can do, from portable up.
const std::vector<SimdLevel>& simd_levels();

/// The level of decoders and rankers that are made from now on; the best one unless it was set.
SimdLevel simd_level();

/// For tests and benchmarks. Throws InvalidArgument if the level isn't among simd_levels().
void set_simd_level(SimdLevel level);

/// The processor's model, as the system names it; empty if it names none.
std::string processor_name();

}  // namespace quern
