#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/papers/wang/wang_block.cuh"
#include "quern/gpu/papers/wang/wang_kernels.hpp"

namespace quern::gpu {

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(max_block_threads, 1)
    run_wang(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
             const __grid_constant__ BatchSegments segments) {
  const WangShared<V> shared(dynamic_shared<RankKey>(), batch.k);
  WangBlock<coding, V, quantized>(index, batch, segments, shared).run();
}

template <Coding coding>
void WangKernels<coding>::run(const IndexView& index, const BatchView& batch, const BatchSegments& segments,
                              unsigned threads, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = run_wang<coding, V, is_quantized>;
    const std::size_t shared = WangShared<V>::bytes(batch.k, threads);
    const unsigned blocks = std::min(resident_blocks(kernel, threads, shared, index.left_free), batch.num_queries);
    launch(kernel, blocks, threads, shared, stream, index, batch, segments);
  });
}

}  // namespace quern::gpu
