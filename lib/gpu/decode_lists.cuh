#pragma once
#include "quern/gpu/decoder.cuh"
#include "quern/gpu/kernels.hpp"
#include "quern/gpu/tuning.hpp"

namespace quern::gpu {

/// Decodes whole lists to memory, a warp a block at a time.
template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    decode_lists(const __grid_constant__ IndexView index, const ListView* lists, std::uint32_t num_lists,
                 const __grid_constant__ DecodeOutput out) {
  constexpr unsigned warps = plain_threads / lanes_a_warp;
  __shared__ std::uint32_t rooms[warps * WarpRoom<V>::size];
  const unsigned warp = threadIdx.x / lanes_a_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpRoom<V>{rooms + warp * WarpRoom<V>::size});
  // A run of neighbouring blocks for each warp, so that its list is looked up once.
  const std::uint64_t all = std::uint64_t{gridDim.x} * warps, own = std::uint64_t{blockIdx.x} * warps + warp;
  const std::uint64_t begin = out.blocks * own / all, end = out.blocks * (own + 1) / all;
  std::uint32_t number = 0;
  for (std::uint32_t count = num_lists; count > 1;) {
    const std::uint32_t half = count / 2;
    if (out.first_block[number + half] <= begin) number += half;
    count -= half;
  }
  for (std::uint64_t block = begin; block < end; ++block) {
    while (out.first_block[number + 1] <= block) ++number;
    const ListView& list = lists[number];
    const auto i = static_cast<std::uint32_t>(block - out.first_block[number]);
    const BlockPlace place = place_of(index, list, i);
    std::uint32_t values[V];
    if (!decode_docids<V>(index, decoder, place, values)) continue;
    const std::uint64_t first =
        out.first_posting[number] + std::uint64_t{i} * index.block_size + lane_id() * std::uint64_t{V};
    const auto put = [&](std::uint32_t* to) {
      if (lane_id() * V + V <= place.n && first % 4 == 0) {
#pragma unroll
        for (int j = 0; j < V; j += 4)
          __stcs(reinterpret_cast<uint4*>(to + first + j),
                 make_uint4(values[j], values[j + 1], values[j + 2], values[j + 3]));
      } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
          if (lane_id() * V + j < place.n) to[first + j] = values[j];
      }
    };
    put(out.docids);
    if (out.freqs == nullptr) continue;
    if (!decoder.freqs(values)) report_damage(index);
    put(out.freqs);
  }
}

}  // namespace quern::gpu
