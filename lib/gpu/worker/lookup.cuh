#pragma once
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/worker/batch_view.cuh"

/// Searches in lists by a warp, and exact term scores.
namespace quern::gpu {

/// lower_bound() in [0, count) with 32 probes at a time. Called by a whole warp.
__device__ inline std::uint32_t first_not_below(const std::uint32_t* docids, std::uint32_t count, std::uint32_t docid) {
  std::uint32_t begin = 0, end = count;
  while (begin < end) {
    const std::uint32_t step = (end - begin + lanes_per_warp - 1) / lanes_per_warp;
    const std::uint32_t probe = begin + (lane_id() + 1) * step - 1;
    const bool not_below = probe >= end || docids[probe] >= docid;
    const unsigned lane = __ffs(__ballot_sync(all_lanes, not_below)) - 1;
    if (lane >= lanes_per_warp) return end;
    const std::uint32_t last = begin + (lane + 1) * step - 1;
    begin += lane * step;
    end = last < end ? last : end;
  }
  return begin;
}

/// The words of a block's quantized impacts.
__device__ inline const std::uint32_t* impact_words_of(const IndexView& index, const ListView& list,
                                                       std::uint32_t block) {
  const std::uint32_t words = (index.block_size * list.impact_width + 31) / 32;
  if (block < list.front_blocks) return index.impacts + list.first_impact_word + std::uint64_t{block} * words;
  const std::uint32_t first = max(list.front_blocks, list.begin_block);
  return index.impacts + list.tail_impact_word + std::uint64_t{block - first} * words;
}

/// A document's static score, the start of its score.
__device__ inline float static_score_of(const IndexView& index, std::uint32_t docid) {
  return index.static_scores == nullptr ? 0 : index.static_scores[docid];
}

/// The term score of a posting, with the same bits as on the CPU.
template <bool quantized>
__device__ inline float term_score(const IndexView& index, float weight, std::uint32_t docid, std::uint32_t value) {
  const float number = __uint2float_rn(value);
  if constexpr (quantized) return __fmul_rn(weight, number);
  return __fmul_rn(weight, __fdiv_rn(number, __fadd_rn(index.constants[docid], number)));
}

/// Sets `value` to a document's frequency (quantized: impact) in a raw list; false if it isn't there. Called by one
/// thread.
__device__ inline bool find_raw_value(const BatchView& batch, const ListView& list, std::uint32_t docid,
                                      std::uint32_t& value) {
  const std::uint32_t* docids = batch.raw_docids + list.first_word;
  const std::uint32_t place = lower_bound(docids, 0, list.df, docid);
  if (place == list.df || docids[place] != docid) return false;
  value = batch.raw_values[list.first_word + place];
  return true;
}

/// Reads this lane's frequencies (quantized: impacts) of the open block. False, and counted, if they are damaged.
template <bool quantized, int V, class Decoder>
__device__ inline bool read_values(const IndexView& index, const Decoder& decoder, const ListView& list,
                                   std::uint32_t block, const BlockPlace& place, std::uint32_t (&values)[V]) {
  if constexpr (quantized) {
    read_slots<V>(impact_words_of(index, list, block), 0, list.impact_width, place.n, values);
  } else if (!decoder.freqs(values)) {
    report_damage(index);
    return false;
  }
  return true;
}

/// Reads this lane's postings of a coded block: docIDs and frequencies (quantized: impacts). If they are damaged,
/// counts that and returns false. Called by a whole warp.
template <bool quantized, int V, class Decoder>
__device__ inline bool read_postings(const IndexView& index, Decoder& decoder, const ListView& list,
                                     std::uint32_t block, const BlockPlace& place, std::uint32_t (&docids)[V],
                                     std::uint32_t (&values)[V]) {
  return decode_docids<V>(index, decoder, place, docids) &&
         read_values<quantized, V>(index, decoder, list, block, place, values);
}

}  // namespace quern::gpu
