#pragma once
#include "quern/gpu/decode/slots.cuh"

/// Rice-coded blocks, decoded by one warp each; formats/codec/rice.md describes them.
namespace quern::gpu {

template <int V>
class RiceWarpDecoder {
 public:
  __device__ RiceWarpDecoder(const IndexView&, const WarpBuffer<V>& buffer) : buffer_(buffer) {}

  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    return parts_.open(place);
  }

  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = find_terminators(parts_.docid_unary_bit, parts_.docid_unary);
    read_slots<V>(place_.words, parts_.remainders_bit, parts_.docid_width, place_.n, out);
#pragma unroll
    for (int i = 0; i < V; ++i) ++out[i];
    sum_up<V>(place_.before, out);
    const unsigned first = lane_id() * V;
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] += (buffer_.values[first + i] - (first + i)) << parts_.docid_width;
    return sound;
  }

  /// The distances of this lane's documents from their predecessors.
  __device__ bool distances(std::uint32_t (&out)[V]) const {
    return values(parts_.remainders_bit, parts_.docid_width, parts_.docid_unary_bit, parts_.docid_unary, out);
  }

  __device__ bool freqs(std::uint32_t (&out)[V]) const {
    return values(parts_.remainders_bit + place_.n * parts_.docid_width, parts_.freq_width,
                  parts_.docid_unary_bit + parts_.docid_unary, parts_.freq_unary, out);
  }

  /// A frequency's unary code can only be found by reading its predecessors.
  static constexpr bool has_single_freqs = false;

 private:
  /// Reads this lane's values of a stream, plus 1.
  __device__ bool values(std::uint32_t remainders_bit, std::uint32_t width, std::uint32_t unary_bit,
                         std::uint32_t unary, std::uint32_t (&out)[V]) const {
    const bool sound = find_terminators(unary_bit, unary);
    read_slots<V>(place_.words, remainders_bit, width, place_.n, out);
    const unsigned first = lane_id() * V;
    std::uint32_t before = first == 0 ? 0xffffffffu : buffer_.values[first - 1];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const std::uint32_t terminator = buffer_.values[first + i];
      out[i] += ((terminator - before - 1) << width) + 1;
      before = terminator;
    }
    return sound;
  }
  /// Writes the positions of the n terminators of a unary part to the warp's buffer. False unless the last one ends it.
  __device__ bool find_terminators(std::uint32_t first_bit, std::uint32_t bits) const {
    __syncwarp();
    std::uint32_t found = 0, at = 0;
    while (at < bits && found < place_.n) {
      const std::uint32_t left = bits - at;
      const std::uint32_t bits_per_lane =
          left >= 32 * lanes_per_warp ? 32 : (left + lanes_per_warp - 1) / lanes_per_warp;
      const std::uint32_t begin = at + lane_id() * bits_per_lane;
      std::uint32_t zeros = 0;
      if (begin < bits) {
        const std::uint32_t own = bits - begin < bits_per_lane ? bits - begin : bits_per_lane;
        zeros = ~value_at(place_.words, first_bit + begin, own) & mask_of(own);
      }
      const std::uint32_t count = __popc(zeros), end = inclusive_sum(count);
      for (std::uint32_t i = found + end - count; zeros != 0; zeros &= zeros - 1, ++i)
        if (i < place_.n) buffer_.values[i] = begin + __ffs(zeros) - 1;
      found += last_lane(end);
      at += lanes_per_warp * bits_per_lane;
    }
    __syncwarp();
    return found == place_.n && at >= bits && buffer_.values[place_.n - 1] == bits - 1;
  }

  WarpBuffer<V> buffer_;
  BlockPlace place_;
  RiceParts parts_;
};

}  // namespace quern::gpu
