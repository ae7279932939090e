#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/worker/batch_view.cuh"

/// The kernel of the strategy `wang`; one source per coding.
namespace quern::gpu {

struct BatchSegments;

template <Coding coding>
struct WangKernels {
  /// Writes the results of all queries of a batch: documents with all terms. `threads`: documents per round.
  static void run(const IndexView& index, const BatchView& batch, const BatchSegments& segments, unsigned threads,
                  bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
