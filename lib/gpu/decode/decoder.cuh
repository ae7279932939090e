#pragma once
#include "quern/gpu/decode/maskpfd.cuh"
#include "quern/gpu/decode/newpfd.cuh"
#include "quern/gpu/decode/rice.cuh"
#include "quern/gpu/decode/rpfd.cuh"

/// The decoder of each coding, and the variants of kernels by block size.
namespace quern::gpu {

template <Coding coding, int V, int L = lanes_per_warp>
struct DecoderOf;
template <int V, int L>
struct DecoderOf<Coding::maskpfd, V, L> {
  using Type = MaskPfdWarpDecoder<V, L>;
};
template <int V, int L>
struct DecoderOf<Coding::newpfd, V, L> {
  using Type = NewPfdWarpDecoder<V, L>;
};
template <int V>
struct DecoderOf<Coding::rpfd, V> {
  using Type = RpfdWarpDecoder<V>;
};
template <int V, int L>
struct DecoderOf<Coding::rpfd_once, V, L> {
  using Type = RpfdOnceWarpDecoder<V, L>;
};
template <int V>
struct DecoderOf<Coding::rice, V> {
  using Type = RiceWarpDecoder<V>;
};

/// This warp's buffer for decoders, of WarpBuffers or the like. By all threads of a thread block, before any of them
/// decodes.
template <Coding coding, class Buffers>
__device__ inline std::uint32_t* begin_decoding(Buffers& buffers) {
  if constexpr (coding == Coding::newpfd) SharedCuts::fill();
  return buffers.own();
}

/// Counts a damaged block, once per warp.
__device__ inline void report_damage(const IndexView& index) {
  if (lane_id() == 0) atomicAdd(index.damaged, 1u);
}

/// A lane's value number i.
template <int V>
__device__ inline std::uint32_t value_of_lane(const std::uint32_t (&values)[V], unsigned i) {
  std::uint32_t value = values[V - 1];
  if (i != V - 1) {
#pragma unroll
    for (int j = 0; j < V - 1; ++j)
      if (i == j) value = values[j];
  }
  return value;
}

/// Decodes a block's docIDs, with checks that cost nothing. If it is damaged, counts that and returns false.
template <int V, class Decoder>
__device__ inline bool decode_docids(const IndexView& index, Decoder& decoder, const BlockPlace& place,
                                     std::uint32_t (&docids)[V]) {
  bool sound = decoder.open(place) && decoder.docids(docids);
  if (sound && place.has_row) {
    const unsigned last = place.n - 1;
    sound = __shfl_sync(all_lanes, value_of_lane<V>(docids, last % V), last / V) == place.last;
  }
  if (!sound) report_damage(index);
  return sound;
}

/// Calls with.operator()<V>() with the fewest values per lane that hold a block of this size.
template <class With>
void with_values_per_lane(unsigned block_size, With&& with) {
  if (block_size <= 4 * lanes_per_warp) return with.template operator()<4>();
  if (block_size <= 8 * lanes_per_warp) return with.template operator()<8>();
  with.template operator()<16>();
}

/// Calls with.operator()<V, L>(), with L lanes per block, for kernels whose warps can decode several blocks at a time.
template <Coding coding, class With>
void with_lanes_per_block(unsigned block_size, With&& with) {
  if constexpr (coding == Coding::rpfd || coding == Coding::rice) {
    with_values_per_lane(block_size, [&]<int V>() { with.template operator()<V, lanes_per_warp>(); });
  } else {
    if (block_size <= 64) return with.template operator()<8, 8>();
    if (block_size <= 128) return with.template operator()<8, 16>();
    if (block_size <= 256) return with.template operator()<8, 32>();
    with.template operator()<16, 32>();
  }
}

/// Calls with.operator()<V, quantized>() for the index's block size.
template <class With>
void with_variant(const IndexView& index, bool quantized, With&& with) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    if (quantized)
      with.template operator()<V, true>();
    else
      with.template operator()<V, false>();
  });
}

}  // namespace quern::gpu
