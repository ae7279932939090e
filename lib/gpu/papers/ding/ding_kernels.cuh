#pragma once
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/papers/ding/ding_kernels.hpp"
#include "quern/gpu/papers/ding/ding_terms.cuh"

namespace quern::gpu {

template <Coding coding>
void DingKernels<coding>::add_term(const IndexView& index, const BatchView& batch, const Wave& wave, std::uint32_t t,
                                   bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = gpu::add_term<coding, V, is_quantized>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch, wave,
                                                                                                     t);
    CUDA_CHECK(cudaGetLastError());
  });
}

template <Coding coding>
void DingKernels<coding>::take_shortest(const IndexView& index, const BatchView& batch, const Wave& wave,
                                        bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = gpu::take_shortest<coding, V, is_quantized>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch,
                                                                                                     wave);
    CUDA_CHECK(cudaGetLastError());
  });
}

template <Coding coding>
void DingKernels<coding>::intersect_term(const IndexView& index, const BatchView& batch, const Wave& wave,
                                         std::uint32_t t, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = gpu::intersect_term<coding, V, is_quantized>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch, wave,
                                                                                                     t);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace quern::gpu
