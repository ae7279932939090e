#pragma once
#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/engine/strategy.hpp"
#include "quern/gpu/partition/partition_kernels.hpp"
#include "quern/gpu/partition/partition_plain.cuh"
#include "quern/gpu/partition/partition_wand.cuh"

namespace quern::gpu {

/// One thread block per query, one range of docIDs per thread, all of the same length (Huang et al.: GPU-Accelerated
/// Block-Max Query Processing, ICA3PP 2017, section 3.2); the threads' results are merged.
template <Coding coding, bool quantized>
__global__ void __launch_bounds__(max_partitions)
    run_partitions(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
                   const __grid_constant__ PartitionWork work) {
  __shared__ std::uint32_t shared_number;
  __shared__ RankKey bests[2 * max_partitions / lanes_per_warp];
  std::uint32_t* buffer = work.buffer + blockIdx.x * work.layout.words;
  PartitionCursors<coding, quantized> cursors(index, batch, work.layout, buffer);
  LocalTop top(reinterpret_cast<RankKey*>(buffer + work.layout.heaps_word), batch.k);
  const std::uint32_t share = (index.num_documents - 1) / blockDim.x + 1;
  const std::uint64_t first = std::uint64_t{share} * threadIdx.x;
  const auto begin = static_cast<std::uint32_t>(min(first, std::uint64_t{index.num_documents}));
  const auto end = static_cast<std::uint32_t>(min(first + share, std::uint64_t{index.num_documents}));
  for (;;) {
    if (threadIdx.x == 0) shared_number = atomicAdd(batch.next_work, 1u);
    __syncthreads();
    const std::uint32_t number = shared_number;
    if (number >= batch.num_queries) return;
    cursors.take(batch.queries[number], work.method == PartitionMethod::unite);
    top.clear();
    if (begin < end) {
      if (work.method == PartitionMethod::intersect)
        intersect_partition(index, cursors, top, begin, end);
      else if (work.method == PartitionMethod::unite)
        unite_partition(index, cursors, top, begin, end);
      else
        PartitionWand<coding, quantized>(index, cursors, top, work.max_static_score,
                                         work.method == PartitionMethod::block_max_wand)
            .run(begin, end);
    }
    __syncthreads();
    const std::uint32_t found = merge_tops(top, batch.k, batch.results + std::uint64_t{number} * batch.k, bests);
    if (threadIdx.x == 0) batch.num_results[number] = found;
    __syncthreads();
  }
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
  kernel<<<blocks, work.layout.threads, 0, stream>>>(index, batch, work);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace quern::gpu
