#pragma once
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/device/tuning.hpp"
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
  __shared__ std::uint32_t rooms[warps * WarpBuffer<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{rooms + warp * WarpBuffer<V>::size});
  const auto unpack = [&](const UnpackTask& task, std::uint32_t block) {
    const BlockPlace place = place_of(index, task.list, block);
    std::uint32_t docids[V];
    if (!decode_docids<V>(index, decoder, place, docids)) return;
    const unsigned first = lane_id() * V, count = first < place.n ? min(place.n - first, static_cast<unsigned>(V)) : 0;
    bool sound = true;
#pragma unroll
    for (unsigned j = 0; j < V; ++j) sound &= j >= count || docids[j] < batch.num_documents;
    if (!__all_sync(all_lanes, sound)) {
      report_damage(index);
      return;
    }
    std::uint32_t* to = batch.unpacked + task.to.first_word;
    if (task.to.form == ListForm::bits) {
      set_bits<V>(to, docids, count);
      return;
    }
    to += std::uint64_t{block} * index.block_size + first;
#pragma unroll
    for (unsigned j = 0; j < V; ++j)
      if (j < count) to[j] = docids[j];
  };
  for_own_blocks(
      batch.unpack_blocks, batch.num_unpack, [&](std::uint32_t i) { return batch.unpack[i].list.first_block; },
      [&](std::uint32_t i, std::uint32_t block) { unpack(batch.unpack[i], block); });
}

}  // namespace quern::gpu
