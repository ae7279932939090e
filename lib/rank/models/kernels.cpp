#include "quern/rank/models/kernels.hpp"

namespace quern {

const RankerKernels& ranker_kernels_of(SimdLevel level) {
#if defined(__AVX2__)
  if (level == SimdLevel::avx512) return avx512_ranker_kernels;
  if (level == SimdLevel::avx2) return avx2_ranker_kernels;
#endif
  static_cast<void>(level);
  return portable_ranker_kernels;
}

}  // namespace quern
