#pragma once
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/papers/ding/ding_kernels.hpp"
#include "quern/gpu/papers/ding/ding_terms.cuh"

namespace quern::gpu {

template <Coding coding>
void DingKernels<coding>::add_term(const IndexView& index, const BatchView& batch, const DingTile& tile,
                                   std::uint32_t t, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    launch_resident(gpu::add_term<coding, V, is_quantized>, plain_threads, index.left_free, stream, index, batch, tile,
                    t);
  });
}

template <Coding coding>
void DingKernels<coding>::take_shortest(const IndexView& index, const BatchView& batch, const DingTile& tile,
                                        bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    launch_resident(gpu::take_shortest<coding, V, is_quantized>, plain_threads, index.left_free, stream, index, batch,
                    tile);
  });
}

template <Coding coding>
void DingKernels<coding>::intersect_term(const IndexView& index, const BatchView& batch, const DingTile& tile,
                                         std::uint32_t t, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    launch_resident(gpu::intersect_term<coding, V, is_quantized>, plain_threads, index.left_free, stream, index, batch,
                    tile, t);
  });
}

}  // namespace quern::gpu
