#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/papers/ding/ding_view.cuh"

/// Kernels of the strategy `ding` that read lists; one source per coding.
namespace quern::gpu {

/// A kernel's work on one term of each query of a tile.
enum class DingStep : std::uint8_t {
  add,            ///< adds the term scores to the accumulators
  take_shortest,  ///< sets a leaf for each posting of the shortest list
  intersect,      ///< keeps the leaves whose documents are in the list
};

template <Coding coding>
struct DingKernels {
  /// `t`: the term's number in each query; 0 is the shortest list.
  static void run(DingStep step, const IndexView& index, const BatchView& batch, const DingTile& tile, std::uint32_t t,
                  bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
