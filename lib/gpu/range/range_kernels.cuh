#pragma once
#include "quern/gpu/decode/decode_lists.cuh"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/range/intersection.cuh"
#include "quern/gpu/range/range_kernels.hpp"

namespace quern::gpu {

template <Coding coding>
void RangeKernels<coding>::write_entries(const IndexView& index, const RangeView& batch, bool quantized,
                                         cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    launch_resident(gpu::write_entries<coding, V, is_quantized>, plain_threads, index.left_free, stream, index, batch);
  });
}

template <Coding coding>
void RangeKernels<coding>::intersect(const IndexView& index, const RangeView& batch, bool quantized,
                                     cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = run_intersection<coding, V, is_quantized>;
    const std::uint64_t useful = std::max<std::uint64_t>(std::uint64_t{batch.tasks} * blocks_per_task, 1);
    const auto blocks = std::min<std::uint64_t>(resident_blocks(kernel, plain_threads, 0, index.left_free), useful);
    launch(kernel, static_cast<unsigned>(blocks), plain_threads, 0, stream, index, batch);
  });
}

template <Coding coding>
void RangeKernels<coding>::score(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    launch_resident(score_candidates<coding, V, is_quantized>, scoring_threads, index.left_free, stream, index, batch);
  });
}

template <Coding coding>
void RangeKernels<coding>::finish(const IndexView& index, const RangeView& batch, bool quantized, bool scored,
                                  cudaStream_t stream) {
  with_variant(index, quantized, [&]<int V, bool is_quantized>() {
    constexpr auto kernel = finish_queries<coding, V, is_quantized>;
    const std::size_t shared = batch.sorted_candidates * sizeof(Candidate);
    constexpr unsigned threads = finish_threads_of<V>;
    const unsigned blocks = std::min(resident_blocks(kernel, threads, shared), batch.num_queries);
    launch(kernel, blocks, threads, shared, stream, index, batch, scored);
  });
}

template <Coding coding>
void RangeKernels<coding>::decode(const IndexView& index, const ListView* lists, std::uint32_t num_lists,
                                  const DecodeOutput& out, cudaStream_t stream) {
  with_lanes_per_block<coding>(index.block_size, [&]<int V, int L>() {
    const std::uint64_t warps = (out.end_block - out.begin_block + lanes_per_warp / L - 1) / (lanes_per_warp / L);
    const std::uint64_t all = (warps * lanes_per_warp + plain_threads - 1) / plain_threads;
    const auto run = [&](auto kernel) {
      const auto blocks = std::min<std::uint64_t>(all, resident_blocks(kernel, plain_threads, 0));
      launch(kernel, static_cast<unsigned>(blocks), plain_threads, 0, stream, index, lists, num_lists, out);
    };
    if (index.block_size == V * L)
      return out.distances ? run(decode_lists<coding, V, L, true, false>) : run(decode_lists<coding, V, L, true, true>);
    // Block sizes are powers of two, so only those below the smallest variant's are left.
    if constexpr (V * L == (L == lanes_per_warp ? 4 * lanes_per_warp : 64))
      out.distances ? run(decode_lists<coding, V, L, false, false>) : run(decode_lists<coding, V, L, false, true>);
  });
}

}  // namespace quern::gpu
