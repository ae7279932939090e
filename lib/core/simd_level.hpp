#pragma once
#include "quern/core/types.hpp"

/// SIMD instructions of the inner loops that exist once per level: block decoding (lib/codec) and learned models
/// (lib/rank/models). All levels give the same values.
namespace quern {

/// The build's baseline, or wider instructions if the processor has them.
enum class SimdLevel {
  portable,  ///< plain C++
  avx2,
  avx512,  ///< with byte permutations (VBMI, VBMI2): Ice Lake, Zen 4 and later
};

std::string_view name_of(SimdLevel level);

/// The levels that this build and this processor support, from portable up.
const std::vector<SimdLevel>& simd_levels();

/// The level for new decoders and rankers; the highest one unless set.
SimdLevel simd_level();

/// For tests and benchmarks. Throws InvalidArgument if the level isn't among simd_levels().
void set_simd_level(SimdLevel level);

/// The processor's model, as the system names it; empty if it names none.
std::string processor_name();

}  // namespace quern
