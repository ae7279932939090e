#pragma once
#include "quern/gpu/decode/decoder.cuh"

namespace quern::gpu {

/// Decodes lists to memory by a warp, a block per L lanes. `contiguous`: blocks have V * L postings, so the postings of
/// neighbouring groups are contiguous. `sums`: sums distances up to docIDs.
template <Coding coding, int V, int L, bool contiguous, bool sums>
class ListDecode {
 public:
  __device__ ListDecode(const IndexView& index, const DecodeOutput& out, std::uint32_t* buffer)
      : index_(index), out_(out), buffer_{buffer}, lines_(buffer_), decoder_(index, buffer_) {}

  /// Decodes blocks [block, end) of a list whose first posting goes to `first_posting`.
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

  __device__ void decode(const BlockPlace& place, std::uint64_t to) {
    std::uint32_t values[V];
    const bool opened = decoder_.open(place);
    const unsigned last = place.n - 1;
    const bool has_last = lane_of_group<L>() == last / V;
    // All groups must continue, even with a damaged block.
    if (groups == 1 && !opened) return report(has_last);
    if constexpr (sums) {
      const bool sound = decoder_.docids(values) && opened;
      const bool differs = value_of_lane<V>(values, last % V) != place.last;
      report(has_last & (!sound | differs));
    } else {
      report(has_last & !(decoder_.distances(values) && opened));
    }
    put(values, place.n, out_.docids + to);
    if (out_.freqs == nullptr) return;
    report(!decoder_.freqs(values) & has_last);
    put(values, place.n, out_.freqs + to);
  }

  __device__ void report(bool damage) const {
    if (damage) atomicAdd(index_.damaged, 1u);
  }

  __device__ void put(const std::uint32_t (&values)[V], std::uint32_t n, std::uint32_t* to) const {
    if constexpr (contiguous) {
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
  WarpBuffer<V> buffer_;
  LineWriter<V> lines_;
  typename DecoderOf<coding, V, L>::Type decoder_;
};

/// Minimum thread blocks per multiprocessor, which limits registers.
template <Coding coding, int V, int L>
inline constexpr unsigned decode_blocks = coding == Coding::rpfd || (coding == Coding::rice && V > 8) ? 1
                                          : coding == Coding::maskpfd                                 ? 5
                                          : (L == lanes_per_warp && V <= 8)                           ? 6
                                                                                                      : 4;

/// Decodes this warp's consecutive blocks of all lists.
template <Coding coding, int V, int L, bool contiguous, bool sums>
__device__ inline void decode_own_blocks(const IndexView& index, const ListView* lists, std::uint32_t num_lists,
                                         const DecodeOutput& out, std::uint32_t* buffer) {
  constexpr unsigned warps = plain_threads / lanes_per_warp;
  const unsigned warp = uniform(threadIdx.x / lanes_per_warp);
  ListDecode<coding, V, L, contiguous, sums> list_decode(index, out, buffer);
  const std::uint64_t all = std::uint64_t{gridDim.x} * warps, own = std::uint64_t{blockIdx.x} * warps + warp;
  const std::uint64_t blocks = out.end_block - out.begin_block;
  std::uint64_t begin = out.begin_block + blocks * own / all;
  const std::uint64_t end = out.begin_block + blocks * (own + 1) / all;
  std::uint32_t number = last_not_above(num_lists, begin, [&](std::uint32_t i) { return out.first_block[i]; });
  for (; begin < end; ++number) {
    const std::uint64_t first = out.first_block[number], list_end = min(end, out.first_block[number + 1]);
    list_decode.decode(lists[number], uniform(static_cast<std::uint32_t>(begin - first)),
                       uniform(static_cast<std::uint32_t>(list_end - first)), out.first_posting[number]);
    begin = list_end;
  }
}

template <Coding coding, int V, int L, bool contiguous, bool sums>
__global__ void __launch_bounds__(plain_threads, decode_blocks<coding, V, L>)
    decode_lists(const __grid_constant__ IndexView index, const ListView* lists, std::uint32_t num_lists,
                 const __grid_constant__ DecodeOutput out) {
  __shared__ WarpBuffers<V> buffers;
  decode_own_blocks<coding, V, L, contiguous, sums>(index, lists, num_lists, out, begin_decoding<coding>(buffers));
}

}  // namespace quern::gpu
