#include "quern/codec/kernels.hpp"

namespace quern {

const Kernels& kernels() { return kernels_of(simd_level()); }

const Kernels& kernels_of(SimdLevel level) {
#if defined(__AVX2__)
  if (level == SimdLevel::avx512) return avx512_kernels;
  if (level == SimdLevel::avx2) return avx2_kernels;
#endif
  static_cast<void>(level);
  return portable_kernels;
}

}  // namespace quern
