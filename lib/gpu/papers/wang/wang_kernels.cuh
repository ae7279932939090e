#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/papers/wang/wang_block.cuh"
#include "quern/gpu/papers/wang/wang_kernels.hpp"

namespace quern::gpu {

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(wang_threads)
    run_wang(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch) {
  __shared__ WangShared<V, wang_threads> shared;
  WangBlock<coding, V, quantized, wang_threads>(index, batch, shared, dynamic_shared<RankKey>()).run();
}

template <Coding coding>
void WangKernels<coding>::run(const IndexView& index, const BatchView& batch, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = run_wang<coding, V, is_quantized>;
    const std::size_t best = sorted_space(batch.k) * sizeof(RankKey);
    const unsigned blocks = std::min(resident_blocks(kernel, wang_threads, best, index.left_free), batch.num_queries);
    launch(kernel, blocks, wang_threads, best, stream, index, batch);
  });
}

}  // namespace quern::gpu
