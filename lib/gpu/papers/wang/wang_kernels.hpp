#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/worker/batch_view.cuh"

/// The kernel of the strategy `wang`; one source per coding.
namespace quern::gpu {

template <Coding coding>
struct WangKernels {
  /// Writes the results of all queries of a batch: documents with all terms.
  static void run(const IndexView& index, const BatchView& batch, bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
