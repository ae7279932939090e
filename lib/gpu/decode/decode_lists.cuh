#pragma once
#include "quern/gpu/common/tuning.hpp"
#include "quern/gpu/decode/decode_output.hpp"
#include "quern/gpu/decode/decoder.cuh"

namespace quern::gpu {

/// Decodes lists to memory by a warp; L lanes take a block. `packed`: blocks are of V * L postings, so that those of
/// neighbouring groups stand side by side.
template <Coding coding, int V, int L, bool packed>
class ListDecode {
 public:
  __device__ ListDecode(const IndexView& index, const DecodeOutput& out, std::uint32_t* room)
      : index_(index), out_(out), room_{room}, lines_(room_), decoder_(index, room_) {}

  /// Blocks [block, end) of a list whose postings go to `first_posting` on.
  __device__ void decode(const ListView& list, std::uint32_t block, std::uint32_t end, std::uint64_t first_posting) {
    for (; block < end; block += lanes_per_warp) {
      const BlockRows rows(index_, list, block, end);
      std::uint64_t to = first_posting + std::uint64_t{block} * index_.block_size;
      for (std::uint32_t i = 0; i < rows.blocks(); i += groups, to += groups * index_.block_size)
        decode(rows.place(i + group_of_lane<L>()), to);
    }
  }

 private:
  static constexpr unsigned groups = lanes_per_warp / L;

  /// A block for each group.
  __device__ void decode(const BlockPlace& place, std::uint64_t to) {
    std::uint32_t values[V];
    const bool opened = decoder_.open(place);
    const unsigned last = place.n - 1;
    const bool has_last = lane_of_group<L>() == last / V;
    // Groups go on together, whichever of them have a sound block.
    if (groups == 1 && !opened) return report(has_last);
    const bool sound = decoder_.docids(values) && opened;
    const bool differs = value_of_lane<V>(values, last % V) != place.last;
    report(has_last & (!sound | differs));
    put(values, place.n, out_.docids + to);
    if (out_.freqs == nullptr) return;
    report(!decoder_.freqs(values) & has_last);
    put(values, place.n, out_.freqs + to);
  }

  __device__ void report(bool damage) const {
    if (damage) atomicAdd(index_.damaged, 1u);
  }

  __device__ void put(const std::uint32_t (&values)[V], std::uint32_t n, std::uint32_t* to) const {
    if constexpr (packed) {
      lines_.write(values, groups == 1 ? n : warp_sum(n) / L, to);
    } else {
      const unsigned first = lane_of_group<L>() * V;
      to += group_of_lane<L>() * index_.block_size + first;
      if (first + V <= n && index_.block_size % 4 == 0) {
#pragma unroll
        for (int i = 0; i < V; i += 4)
          __stcs(reinterpret_cast<uint4*>(to + i), make_uint4(values[i], values[i + 1], values[i + 2], values[i + 3]));
      } else {
#pragma unroll
        for (int i = 0; i < V; ++i)
          if (first + i < n) to[i] = values[i];
      }
    }
  }

  const IndexView& index_;
  const DecodeOutput& out_;
  WarpRoom<V> room_;
  LineWriter<V> lines_;
  typename DecoderOf<coding, V, L>::Type decoder_;
};

/// Thread blocks that share a multiprocessor at least: what registers are kept free for.
template <Coding coding>
inline constexpr unsigned decode_blocks = coding == Coding::newpfd      ? 5
                                          : coding == Coding::rpfd_once ? 4
                                                                        : 1;

/// Each warp's share of all blocks: a run of neighbouring ones.
template <Coding coding, int V, int L, bool packed>
__device__ inline void decode_own_blocks(const IndexView& index, const ListView* lists, std::uint32_t num_lists,
                                         const DecodeOutput& out) {
  constexpr unsigned warps = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t rooms[warps * WarpRoom<V>::size];
  const unsigned warp = uniform(threadIdx.x / lanes_per_warp);
  ListDecode<coding, V, L, packed> list_decode(index, out, rooms + warp * WarpRoom<V>::size);
  const std::uint64_t all = std::uint64_t{gridDim.x} * warps, own = std::uint64_t{blockIdx.x} * warps + warp;
  const std::uint64_t blocks = out.end_block - out.begin_block;
  std::uint64_t begin = out.begin_block + blocks * own / all;
  const std::uint64_t end = out.begin_block + blocks * (own + 1) / all;
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

template <Coding coding, int V, int L, bool packed>
__global__ void __launch_bounds__(plain_threads, decode_blocks<coding>)
    decode_lists(const __grid_constant__ IndexView index, const ListView* lists, std::uint32_t num_lists,
                 const __grid_constant__ DecodeOutput out) {
  decode_own_blocks<coding, V, L, packed>(index, lists, num_lists, out);
}

}  // namespace quern::gpu
