#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/papers/partition/partition_block.cuh"
#include "quern/gpu/papers/partition/partition_kernels.hpp"

namespace quern::gpu {

template <Coding coding, bool quantized>
__global__ void __launch_bounds__(max_block_threads)
    run_partitions(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
                   const __grid_constant__ PartitionWork work) {
  __shared__ PartitionShared shared;
  PartitionBlock<coding, quantized>(index, batch, work, shared).run();
}

template <Coding coding>
unsigned PartitionKernels<coding>::resident(unsigned threads, bool quantized) {
  return quantized ? resident_blocks(run_partitions<coding, true>, threads, 0)
                   : resident_blocks(run_partitions<coding, false>, threads, 0);
}

template <Coding coding>
void PartitionKernels<coding>::run(const IndexView& index, const BatchView& batch, const PartitionWork& work,
                                   unsigned blocks, bool quantized, cudaStream_t stream) {
  const auto kernel = quantized ? run_partitions<coding, true> : run_partitions<coding, false>;
  launch(kernel, blocks, work.layout.threads, 0, stream, index, batch, work);
}

}  // namespace quern::gpu
