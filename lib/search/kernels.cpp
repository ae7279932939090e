#include "quern/search/kernels.hpp"

#include "quern/search/kernel_loops.hpp"

namespace quern {

const QueryKernels& query_kernels() { return query_kernels_of(simd_level()); }

const QueryKernels& query_kernels_of(SimdLevel level) {
#if defined(__AVX2__)
  if (level == SimdLevel::avx512) return avx512_query_kernels;
  if (level == SimdLevel::avx2) return avx2_query_kernels;
#endif
  static_cast<void>(level);
  return portable_query_kernels;
}

const QueryKernels portable_query_kernels = {
    query_loops::find,
    query_loops::term_scores,
    query_loops::add,
    query_loops::add_impacts,
    query_loops::take_above,
    query_loops::keep_above,
    query_loops::count_up_to,
    query_loops::add_bitmaps,
    query_loops::add_greatest,
    query_loops::blocks_above,
    query_loops::score_block<query_loops::add_bitmaps, query_loops::take_above>};

}  // namespace quern
