#pragma once
#include "quern/gpu/common/tuning.hpp"
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/intersection/intersect_view.cuh"

/// Unpacks lists into the GPU's memory, a warp a block at a time. All words are zero before.
namespace quern::gpu {

/// Sets the bits of this lane's first `count` documents, which rise, a word at a time.
template <int V>
__device__ inline void set_bits(std::uint32_t* bits, const std::uint32_t (&docids)[V], unsigned count) {
  std::uint32_t word = docids[0] >> 5, mask = 0;
#pragma unroll
  for (unsigned i = 0; i < V; ++i) {
    if (i >= count) break;
    if (docids[i] >> 5 != word) {
      atomicOr(bits + word, mask);
      word = docids[i] >> 5;
      mask = 0;
    }
    mask |= 1u << (docids[i] & 31);
  }
  if (mask != 0) atomicOr(bits + word, mask);
}

template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    unpack_lists(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  constexpr unsigned warps = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t rooms[warps * WarpRoom<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpRoom<V>{rooms + warp * WarpRoom<V>::size});
  // A run of neighbouring blocks for each warp, so that its list is looked up once.
  const std::uint64_t all = std::uint64_t{gridDim.x} * warps, own = std::uint64_t{blockIdx.x} * warps + warp;
  const auto begin = static_cast<std::uint32_t>(batch.unpack_blocks * own / all),
             end = static_cast<std::uint32_t>(batch.unpack_blocks * (own + 1) / all);
  std::uint32_t number = 0;
  for (std::uint32_t count = batch.num_unpack; count > 1;) {
    const std::uint32_t half = count / 2;
    if (batch.unpack[number + half].list.first_block <= begin) number += half;
    count -= half;
  }
  for (std::uint32_t block = begin; block < end; ++block) {
    while (number + 1 < batch.num_unpack && batch.unpack[number + 1].list.first_block <= block) ++number;
    const UnpackTask& task = batch.unpack[number];
    const std::uint32_t i = block - task.list.first_block;
    const BlockPlace place = place_of(index, task.list, i);
    std::uint32_t docids[V];
    if (!decode_docids<V>(index, decoder, place, docids)) continue;
    const unsigned first = lane_id() * V, count = first < place.n ? min(place.n - first, static_cast<unsigned>(V)) : 0;
    bool sound = true;
#pragma unroll
    for (unsigned j = 0; j < V; ++j) sound &= j >= count || docids[j] < batch.num_documents;
    if (!__all_sync(all_lanes, sound)) {
      report_damage(index);
      continue;
    }
    std::uint32_t* to = batch.unpacked + task.to.first_word;
    if (task.to.form == ListForm::bits) {
      set_bits<V>(to, docids, count);
      continue;
    }
    to += std::uint64_t{i} * index.block_size + first;
#pragma unroll
    for (unsigned j = 0; j < V; ++j)
      if (j < count) to[j] = docids[j];
  }
}

}  // namespace quern::gpu
