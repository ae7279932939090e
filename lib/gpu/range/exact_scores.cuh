#pragma once
#include "quern/gpu/decode/serial_decoder.hpp"
#include "quern/gpu/range/entry_value.cuh"
#include "quern/gpu/range/range_lookup.cuh"
#include "quern/gpu/worker/lookup.cuh"

/// Exact scores of documents whose terms' lists are decoded. A document's entry tells its frequency, unless that is in
/// the hundreds, and in any case which posting it is; so a lane finds what a warp would decode a block for.
namespace quern::gpu {

template <Coding coding, int V, bool quantized>
class ExactScores {
 public:
  /// `buffer` is the warp's.
  __device__ ExactScores(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), buffer_(buffer) {}

  /// How many lanes share a document of a query with so many terms: a power of two, one lane per term where there are
  /// enough.
  __device__ static unsigned lanes_for(std::uint32_t terms) {
    unsigned lanes = 1;
    while (lanes < terms && lanes < lanes_per_warp) lanes *= 2;
    return lanes;
  }

  /// The score of the document that each group of lanes_for(query.terms) lanes has: its static score and term scores,
  /// added in the order of summation. Groups without one pass `wanted` = false. By a whole warp, for one query.
  __device__ float score(const BatchQuery& query, std::uint32_t docid, bool wanted) {
    const unsigned lanes = lanes_for(query.terms);
    float sum = wanted ? static_score_of(index_, docid) : 0;
    for (std::uint32_t base = 0; base < query.terms; base += lanes) {
      const std::uint32_t own = base + lane_id() % lanes;
      const float term_score = this->term_score(query.first_term + own, docid, wanted && own < query.terms);
      for (unsigned i = 0; i < min(lanes, query.terms - base); ++i)
        sum = __fadd_rn(sum, __shfl_sync(all_lanes, term_score, i, lanes));
    }
    return sum;
  }

 private:
  /// What a lane knows of a posting.
  struct Posting {
    bool there = false;
    std::uint32_t value = 0;   ///< frequency (quantized: impact); 0: to be read from its block
    std::uint32_t number = 0;  ///< in its list
  };

  /// 0 if the list doesn't contain the document: adding it changes no sum.
  __device__ float term_score(std::uint32_t number, std::uint32_t docid, bool wanted) {
    Posting posting;
    if (wanted) posting = posting_of(batch_.terms[number], docid);
    const bool unknown = posting.there && posting.value == 0;
    if constexpr (quantized || has_frequencies_apart<coding>) {
      if (unknown) posting.value = value_by_lane(index_, batch_, batch_.terms[number].list, posting.number);
    } else {
      for (unsigned left = __ballot_sync(all_lanes, unknown); left != 0; left &= left - 1) {
        const unsigned lane = __ffs(left) - 1;
        const std::uint32_t list = batch_.terms[__shfl_sync(all_lanes, number, lane)].list;
        const std::uint32_t value =
            value_by_warp(index_, batch_, buffer_, list, __shfl_sync(all_lanes, posting.number, lane));
        if (lane_id() == lane) posting.value = value;
      }
    }
    return posting.there ? gpu::term_score<quantized>(index_, batch_.terms[number].weight, docid, posting.value) : 0;
  }

  __device__ Posting posting_of(const BatchTerm& term, std::uint32_t docid) const {
    const ListSlice slice = slice_of(batch_, term, docid / range_documents - batch_.first_range);
    const std::uint32_t document = docid % range_documents;
    const std::uint32_t place = lower_bound(slice.entries, 0, slice.count, document << 16);
    if (place == slice.count) return {};
    const std::uint32_t entry = slice.entries[place], value = entry & 0xffff;
    if (entry >> 16 != document) return {};
    const EntryPlace& all = batch_.entries_of[term.list];
    Posting posting;
    posting.there = true;
    posting.number = all.begin + static_cast<std::uint32_t>(slice.entries + place - batch_.entries - all.first_entry);
    if constexpr (quantized)
      posting.value = value < 0xffff ? value : 0;  // larger impacts have this value, too
    else
      posting.value = freq_of_value(index_.constants[docid], value);
    return posting;
  }

  // Not inlined, and static: what is seldom called would take registers from the rest.

  /// A posting's frequency or impact, by a lane; 0 if the block is damaged, which was counted when it was decoded.
  __noinline__ __device__ static std::uint32_t value_by_lane(const IndexView& index, const RangeView& batch,
                                                             std::uint32_t number, std::uint32_t posting) {
    const ListView& list = batch.lists[number];
    if (list.raw) return batch.raw_values[list.first_word + posting];
    const std::uint32_t block = posting / index.block_size, i = posting % index.block_size;
    if constexpr (quantized) {
      return value_at(impact_words_of(index, list, block), i * list.impact_width, list.impact_width);
    } else {
      typename SerialDecoderOf<coding>::Type decoder{SerialContext{}};
      return decoder.open(place_of(index, list, block)) ? decoder.separate_freq(i) : 0;
    }
  }

  /// The same by a whole warp.
  __noinline__ __device__ static std::uint32_t value_by_warp(const IndexView& index, const RangeView& batch,
                                                             std::uint32_t* buffer, std::uint32_t number,
                                                             std::uint32_t posting) {
    const ListView& list = batch.lists[number];
    if (list.raw) return batch.raw_values[list.first_word + posting];
    const std::uint32_t block = posting / index.block_size, i = posting % index.block_size;
    typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{buffer});
    std::uint32_t freqs[V] = {};
    if (!decoder.open(place_of(index, list, block)) || !decoder.freqs(freqs)) return 0;
    return __shfl_sync(all_lanes, value_of_lane<V>(freqs, i % V), i / V);
  }

  const IndexView& index_;
  const RangeView& batch_;
  std::uint32_t* buffer_;
};

}  // namespace quern::gpu
