#pragma once
#include "quern/codec/maskpfd.hpp"
#include "quern/gpu/decode/slots.cuh"

/// Blocks of maskpfd, each decoded by a group of L lanes with V postings per lane; formats/codec/maskpfd.md describes
/// them.
namespace quern::gpu {

/// The high parts of one stream that belong to a lane's postings, which are consecutive in each array.
struct HighPartsOfLane {
  static constexpr unsigned arrays = maskpfd::high_arrays;
  std::uint32_t masks[arrays] = {};  ///< a bit per value of the array above that has one, the first in the lowest bit
  std::uint32_t slots[arrays] = {};  ///< bit of the lane's first slot
};

/// All lanes of a warp must call together, even if its groups decode different blocks.
template <int V, int L = lanes_per_warp>
class MaskPfdWarpDecoder {
 public:
  __device__ MaskPfdWarpDecoder(const IndexView&, const WarpBuffer<V>&) {}

  /// Opens a block. False if its arrays are not within it; it then decodes like an empty one.
  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    header_ = maskpfd::Header();
    docid_highs_ = freq_highs_ = HighPartsOfLane();
    if (place.size != 0) {
      const std::uint32_t word = place.words[0];
      header_ = maskpfd::Header(L == lanes_per_warp ? uniform(word) : word);
    }
    const bool sound = place.size != 0 && header_.slots_end_bit(place.n) <= 32 * std::uint64_t{place.size};
    if (!sound) header_ = maskpfd::Header();
    if (max_of_groups<L>(max(header_.docids.count, header_.freqs.count)) == 1) return sound;
    if (find_highs()) return sound;
    header_ = maskpfd::Header();
    docid_highs_ = freq_highs_ = HighPartsOfLane();
    return false;
  }

  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V, L>(place_.before, out);
    return sound;
  }
  /// The distances of this lane's documents from their predecessors.
  __device__ bool distances(std::uint32_t (&out)[V]) const {
    values(header_.docids, header_.docid_slots_bit(place_.n), docid_highs_, out);
    return true;
  }

  __device__ bool freqs(std::uint32_t (&out)[V]) const {
    values(header_.freqs, freq_slots_bit(), freq_highs_, out);
    return true;
  }

  static constexpr bool has_single_freqs = true;  ///< whether freq_at() can be called
  __device__ static bool open_freqs() { return true; }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1) and those
  /// of its high parts, which follow from the masks and slots of the lane whose posting it is. By all lanes.
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    unsigned shift = header_.freqs.widths[0];
    std::uint32_t value = value_at(place_.words, freq_slots_bit() + i * shift, shift) + 1;
    const unsigned arrays = max_of_groups<L>(header_.freqs.count), lane = i / V;
    std::uint32_t place = i % V;  // among the lane's values of the array
    bool has = true;
#pragma unroll
    for (unsigned array = 0; array < HighPartsOfLane::arrays; ++array) {
      if (array + 1 >= arrays) break;
      const std::uint32_t mask = __shfl_sync(all_lanes, freq_highs_.masks[array], lane, L);
      const std::uint32_t slots = __shfl_sync(all_lanes, freq_highs_.slots[array], lane, L);
      has = has && (mask >> place & 1) != 0;
      place = __popc(mask & mask_of(place));
      const unsigned width = header_.freqs.widths[array + 1];
      if (has) value += exception_addend(value_at(place_.words, slots + place * width, width), shift);
      shift += width;
    }
    return value;
  }

 private:
  static_assert(V <= 32, "a lane's mask is a word");

  /// A lane's values in an array.
  struct Own {
    std::uint32_t first, count;
  };

  __device__ std::uint32_t freq_slots_bit() const { return header_.freq_slots_bit(place_.n); }

  /// The lane's bits of the mask at `bit`; 0, and `sound` false, if the mask is not within the block.
  __device__ std::uint32_t own_mask(bool there, std::uint32_t bit, std::uint32_t all, const Own& own,
                                    bool& sound) const {
    if (!there) return 0;
    sound = sound && bit + all <= 32 * std::uint64_t{place_.size};
    return sound && own.count > 0 ? value_at(place_.words, bit + own.first, own.count) : 0;
  }

  /// Finds the arrays of both streams' high parts; false if they are not within the block. One prefix sum serves both
  /// streams: docIDs in the low half of a word, frequencies in the high half.
  __device__ bool find_highs() {
    const std::uint32_t first = min(lane_of_group<L>() * V, place_.n);
    Own docids{first, min(static_cast<std::uint32_t>(V), place_.n - first)}, freqs = docids;
    std::uint32_t all_docids = place_.n, all_freqs = place_.n, bit = maskpfd::Header::bits;
    std::uint32_t docid_sizes[HighPartsOfLane::arrays] = {}, freq_sizes[HighPartsOfLane::arrays] = {};
    bool sound = true;
#pragma unroll
    for (unsigned array = 0; array < HighPartsOfLane::arrays; ++array) {
      const bool has_docids = array + 1 < header_.docids.count, has_freqs = array + 1 < header_.freqs.count;
      if (array == 1) bit = header_.slots_end_bit(place_.n);
      const std::uint32_t docid_mask = own_mask(has_docids, bit, all_docids, docids, sound);
      if (has_docids) bit += all_docids;
      const std::uint32_t freq_mask = own_mask(has_freqs, bit, all_freqs, freqs, sound);
      if (has_freqs) bit += all_freqs;
      const std::uint32_t ones = __popc(docid_mask) | __popc(freq_mask) << 16, end = inclusive_sum<L>(ones);
      const std::uint32_t all = last_lane<L>(end), before = end - ones;
      docids = {before & 0xffff, ones & 0xffff};
      freqs = {before >> 16, ones >> 16};
      docid_sizes[array] = all_docids = all & 0xffff;
      freq_sizes[array] = all_freqs = all >> 16;
      docid_highs_.masks[array] = docid_mask;
      freq_highs_.masks[array] = freq_mask;
      docid_highs_.slots[array] = docids.first * header_.docids.widths[array + 1];
      freq_highs_.slots[array] = freqs.first * header_.freqs.widths[array + 1];
    }
    if (header_.docids.count == 1 && header_.freqs.count == 1) bit = header_.slots_end_bit(place_.n);
    place_slots(header_.docids, docid_sizes, docid_highs_, bit);
    place_slots(header_.freqs, freq_sizes, freq_highs_, bit);
    return all_of_group<L>(sound && bit <= 32 * std::uint64_t{place_.size});
  }
  /// Adds the begin of each array to the places of a stream's slots.
  __device__ static void place_slots(const maskpfd::Arrays& stream, const std::uint32_t* sizes, HighPartsOfLane& highs,
                                     std::uint32_t& bit) {
#pragma unroll
    for (unsigned array = 0; array < HighPartsOfLane::arrays; ++array) {
      highs.slots[array] += bit;
      bit += sizes[array] * stream.widths[array + 1];
    }
  }

  __device__ void values(const maskpfd::Arrays& stream, std::uint32_t slots_bit, const HighPartsOfLane& highs,
                         std::uint32_t (&out)[V]) const {
    const Slots<V, L> slots(place_.words, slots_bit, stream.widths[0], place_.n);
    HighPartsOfLane next = highs;
    slots.take(out);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      out[i] += 1;
      if ((next.masks[0] >> i & 1) != 0) out[i] += patch<0>(stream, next, stream.widths[0]);
    }
  }
  /// The number that an array's next high part, shifted by `shift` bits, adds to its value.
  template <unsigned array>
  __device__ std::uint32_t patch(const maskpfd::Arrays& stream, HighPartsOfLane& next, unsigned shift) const {
    const unsigned width = stream.widths[array + 1];
    std::uint32_t added = exception_addend(value_at(place_.words, next.slots[array], width), shift);
    next.slots[array] += width;
    if constexpr (array + 1 < HighPartsOfLane::arrays) {
      const bool has = (next.masks[array + 1] & 1) != 0;
      next.masks[array + 1] >>= 1;
      if (has) added += patch<array + 1>(stream, next, shift + width);
    }
    return added;
  }

  BlockPlace place_;
  maskpfd::Header header_;
  HighPartsOfLane docid_highs_, freq_highs_;
};

}  // namespace quern::gpu
