#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/ding/ding_view.cuh"

/// Launches of the strategy `ding` that read lists, one source per coding.
namespace quern::gpu {

template <Coding coding>
struct DingKernels {
  /// Adds the parts of each query's term number t to its accumulators.
  static void add_term(const IndexView& index, const BatchView& batch, const Wave& wave, std::uint32_t t,
                       bool quantized, cudaStream_t stream);
  /// Makes leaves of the postings of each query's shortest list.
  static void take_shortest(const IndexView& index, const BatchView& batch, const Wave& wave, bool quantized,
                            cudaStream_t stream);
  /// Keeps of the leaves the documents that are in the list of term number t too.
  static void intersect_term(const IndexView& index, const BatchView& batch, const Wave& wave, std::uint32_t t,
                             bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
