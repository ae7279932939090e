#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/papers/ding/ding_kernels.hpp"
#include "quern/gpu/papers/ding/ding_terms.cuh"

namespace quern::gpu {

template <Coding coding>
void DingKernels<coding>::run(DingStep step, const IndexView& index, const BatchView& batch, const DingTile& tile,
                              std::uint32_t t, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    const auto launch = [&](auto kernel, const auto&... term) {
      launch_resident(kernel, plain_threads, index.left_free, stream, index, batch, tile, term...);
    };
    if (step == DingStep::add)
      launch(add_term<coding, V, is_quantized>, t);
    else if (step == DingStep::take_shortest)
      launch(take_shortest<coding, V, is_quantized>);
    else
      launch(intersect_term<coding, V, is_quantized>, t);
  });
}

}  // namespace quern::gpu
