#pragma once
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/intersect/intersect_view.cuh"

/// Unpacking of posting lists, whole or a window's blocks of them.
namespace quern::gpu {

/// Sets the bits of this lane's first `count` documents, whose docIDs rise, one word at a time.
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

/// Unpacks blocks of the batch's tasks to docIDs or bits, in memory that is all zeros.
template <Coding coding, int V>
class UnpackingWarp {
 public:
  __device__ UnpackingWarp(const IndexView& index, const IntersectView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), decoder_(index, WarpBuffer<V>{buffer}) {}

  /// Unpacks this warp's share of all tasks' blocks.
  __device__ void run() {
    for_own_blocks(
        batch_.unpack_blocks, batch_.num_unpack, [&](std::uint32_t i) { return batch_.unpack[i].list.first_block; },
        [&](std::uint32_t i, std::uint32_t block) { unpack(batch_.unpack[i], block); });
  }

 private:
  /// `block`: counted from the first of the task.
  __device__ void unpack(const UnpackTask& task, std::uint32_t block) {
    const BlockPlace place = place_of(index_, task.list, task.list.begin_block + block);
    std::uint32_t docids[V];
    if (!decode_docids<V>(index_, decoder_, place, docids)) return;
    const unsigned first = lane_id() * V, count = first < place.n ? min(place.n - first, static_cast<unsigned>(V)) : 0;
    bool sound = true;
#pragma unroll
    for (unsigned j = 0; j < V; ++j) sound &= j >= count || docids[j] < batch_.num_documents;
    if (!__all_sync(all_lanes, sound)) {
      report_damage(index_);
      return;
    }
    std::uint32_t* to = batch_.unpacked + task.to.first_word;
    if (task.to.format == ListFormat::bits) {
      set_bits<V>(to, docids, count);
      return;
    }
    to += std::uint64_t{block} * index_.block_size + first;
#pragma unroll
    for (unsigned j = 0; j < V; ++j)
      if (j < count) to[j] = docids[j];
  }

  const IndexView& index_;
  const IntersectView& batch_;
  typename DecoderOf<coding, V>::Type decoder_;
};

template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    unpack_lists(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  __shared__ std::uint32_t buffers[plain_threads / lanes_per_warp * WarpBuffer<V>::size];
  UnpackingWarp<coding, V>(index, batch, buffers + threadIdx.x / lanes_per_warp * WarpBuffer<V>::size).run();
}

}  // namespace quern::gpu
