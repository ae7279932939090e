#pragma once
#include "quern/gpu/newpfd.cuh"
#include "quern/gpu/rice.cuh"
#include "quern/gpu/rpfd.cuh"

/// The decoder of each coding: what kernels take as a template argument.
namespace quern::gpu {

template <Coding coding, int V>
struct DecoderOf;
template <int V>
struct DecoderOf<Coding::newpfd, V> {
  using Type = NewPfdDecoder<V>;
};
template <int V>
struct DecoderOf<Coding::rpfd, V> {
  using Type = RpfdDecoder<V>;
};
template <int V>
struct DecoderOf<Coding::rice, V> {
  using Type = RiceDecoder<V>;
};

/// Counts a block that does not decode, once a warp.
__device__ inline void report_damage(const IndexView& index) {
  if (lane_id() == 0) atomicAdd(index.damaged, 1u);
}

/// Decodes a block's docIDs and checks them as far as it costs nothing: false, and counted, where they are damaged.
template <int V, class Decoder>
__device__ inline bool decode_docids(const IndexView& index, Decoder& decoder, const BlockPlace& place,
                                     std::uint32_t (&docids)[V]) {
  bool sound = decoder.open(place) && decoder.docids(docids);
  if (sound && place.has_row) {
    const unsigned last = place.n - 1;
    std::uint32_t docid = docids[V - 1];
    if (last % V != V - 1) {
#pragma unroll
      for (int i = 0; i < V - 1; ++i)
        if (last % V == i) docid = docids[i];
    }
    sound = __shfl_sync(all_lanes, docid, last / V) == place.last;
  }
  if (!sound) report_damage(index);
  return sound;
}

/// Calls with.operator()<V>() for the fewest values a lane that hold blocks of that size.
template <class With>
void with_values_a_lane(unsigned block_size, With&& with) {
  if (block_size <= 4 * lanes_a_warp) return with.template operator()<4>();
  if (block_size <= 8 * lanes_a_warp) return with.template operator()<8>();
  with.template operator()<16>();
}

}  // namespace quern::gpu
