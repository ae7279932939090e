#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/papers/partition/partition_layout.hpp"
#include "quern/gpu/worker/batch_view.cuh"

/// Kernels of the strategy `partition`; one source per coding.
namespace quern::gpu {

template <Coding coding>
struct PartitionKernels {
  /// The number of resident thread blocks of `threads` threads.
  static unsigned resident(unsigned threads, bool quantized);
  /// Answers all queries of a batch with `blocks` thread blocks.
  static void run(const IndexView& index, const BatchView& batch, const PartitionWork& work, unsigned blocks,
                  bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
