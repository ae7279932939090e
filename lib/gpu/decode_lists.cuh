#pragma once
#include "quern/gpu/decoder.cuh"
#include "quern/gpu/kernels.hpp"
#include "quern/gpu/tuning.hpp"

namespace quern::gpu {

/// Decodes lists to memory by a warp; L lanes take a block.
template <Coding coding, int V, int L>
class ListDecode {
 public:
  __device__ ListDecode(const IndexView& index, const DecodeOutput& out, std::uint32_t* room)
      : index_(index), out_(out), room_{room}, decoder_(index, room_) {}

  /// Blocks [block, end) of a list whose postings go to `first_posting` on.
  __device__ void decode(const ListView& list, std::uint32_t block, std::uint32_t end, std::uint64_t first_posting) {
    for (; block < end; block += lanes_a_warp) {
      const BlockRows rows(index_, list, block, end);
      std::uint64_t to = first_posting + std::uint64_t{block} * index_.block_size;
      for (std::uint32_t i = 0; i < rows.blocks(); i += groups, to += groups * index_.block_size)
        decode(rows.place(i + group_of_lane<L>()), min(rows.postings_from(i), groups * index_.block_size), to);
    }
  }

 private:
  static constexpr unsigned groups = lanes_a_warp / L;

  /// A block for each group, with `count` postings together.
  __device__ void decode(const BlockPlace& place, std::uint32_t count, std::uint64_t to) {
    std::uint32_t values[V];
    const bool opened = decoder_.open(place);
    const unsigned last = place.n - 1;
    const bool has_last = lane_of_group<L>() == last / V;
    // Groups go on together, whichever of them have a sound block.
    if (groups == 1 && !opened) return report(has_last);
    const bool sound = decoder_.docids(values) && opened;
    report(has_last && !(sound && value_of_lane<V>(values, last % V) == place.last));
    put(values, place.n, count, out_.docids + to);
    if (out_.freqs == nullptr) return;
    const bool freqs_sound = decoder_.freqs(values);
    report(has_last && !freqs_sound);
    put(values, place.n, count, out_.freqs + to);
  }

  __device__ void report(bool damage) const {
    if (damage) atomicAdd(index_.damaged, 1u);
  }

  __device__ void put(const std::uint32_t (&values)[V], std::uint32_t n, std::uint32_t count, std::uint32_t* to) const {
    if (index_.block_size == V * L) return room_.write(values, count, to);
    // Blocks that fill no group stand apart in the lanes.
    to += group_of_lane<L>() * index_.block_size;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (lane_of_group<L>() * V + i < n) to[lane_of_group<L>() * V + i] = values[i];
  }

  const IndexView& index_;
  const DecodeOutput& out_;
  WarpRoom<V> room_;
  typename DecoderOf<coding, V, L>::Type decoder_;
};

/// Thread blocks that share a multiprocessor at least: what registers are kept free for.
template <Coding coding>
inline constexpr unsigned decode_blocks = coding == Coding::newpfd ? 5 : 1;

/// Each warp's share of all blocks: a run of neighbouring ones.
template <Coding coding, int V, int L>
__device__ inline void decode_own_blocks(const IndexView& index, const ListView* lists, std::uint32_t num_lists,
                                         const DecodeOutput& out) {
  constexpr unsigned warps = plain_threads / lanes_a_warp;
  __shared__ std::uint32_t rooms[warps * WarpRoom<V>::size];
  const unsigned warp = uniform(threadIdx.x / lanes_a_warp);
  ListDecode<coding, V, L> list_decode(index, out, rooms + warp * WarpRoom<V>::size);
  const std::uint64_t all = std::uint64_t{gridDim.x} * warps, own = std::uint64_t{blockIdx.x} * warps + warp;
  std::uint64_t begin = out.blocks * own / all;
  const std::uint64_t end = out.blocks * (own + 1) / all;
  std::uint32_t number = 0;
  for (std::uint32_t count = num_lists; count > 1;) {
    const std::uint32_t half = count / 2;
    if (out.first_block[number + half] <= begin) number += half;
    count -= half;
  }
  for (; begin < end; ++number) {
    const std::uint64_t first = out.first_block[number], behind = min(end, out.first_block[number + 1]);
    list_decode.decode(lists[number], uniform(static_cast<std::uint32_t>(begin - first)),
                       uniform(static_cast<std::uint32_t>(behind - first)), out.first_posting[number]);
    begin = behind;
  }
}

template <Coding coding, int V, int L>
__global__ void __launch_bounds__(plain_threads, decode_blocks<coding>)
    decode_lists(const __grid_constant__ IndexView index, const ListView* lists, std::uint32_t num_lists,
                 const __grid_constant__ DecodeOutput out) {
  decode_own_blocks<coding, V, L>(index, lists, num_lists, out);
}

}  // namespace quern::gpu
