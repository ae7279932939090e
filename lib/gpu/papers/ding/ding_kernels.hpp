#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/papers/ding/ding_view.cuh"

/// Kernels of the strategy `ding` that read lists; one source per coding.
namespace quern::gpu {

template <Coding coding>
struct DingKernels {
  /// Adds the term scores of each query's term t to its accumulators.
  static void add_term(const IndexView& index, const BatchView& batch, const DingTile& tile, std::uint32_t t,
                       bool quantized, cudaStream_t stream);
  /// Sets a leaf for each posting of each query's shortest list.
  static void take_shortest(const IndexView& index, const BatchView& batch, const DingTile& tile, bool quantized,
                            cudaStream_t stream);
  /// Keeps the leaves whose documents are in the list of term t.
  static void intersect_term(const IndexView& index, const BatchView& batch, const DingTile& tile, std::uint32_t t,
                             bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
