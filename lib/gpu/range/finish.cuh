#pragma once
#include "quern/gpu/decode/serial_decoder.hpp"
#include "quern/gpu/range/entries.cuh"
#include "quern/gpu/range/range_lookup.cuh"
#include "quern/gpu/worker/sort_keys.cuh"

/// Exact scores of documents whose lists are decoded. An entry gives the posting's number and, unless it is in the
/// hundreds, the frequency, so a lane finds a term score without decoding a block.
namespace quern::gpu {

template <Coding coding, int V, bool quantized>
class ExactScores {
 public:
  __device__ ExactScores(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), buffer_(buffer) {}

  /// The lanes per document of a query with `terms` terms: a power of two, one lane per term if possible.
  __device__ static unsigned lanes_for(std::uint32_t terms) {
    unsigned lanes = 1;
    while (lanes < terms && lanes < lanes_per_warp) lanes *= 2;
    return lanes;
  }

  /// The score of each group's document, for groups of lanes_for(query.terms) lanes: static score and term scores,
  /// added in the order of summation. Groups without a document pass `wanted` = false. Called by a whole warp, for one
  /// query.
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
  struct Posting {
    bool there = false;
    std::uint32_t value = 0;   ///< frequency (quantized: impact); 0: read it from the block
    std::uint32_t number = 0;  ///< in its list
  };

  /// 0, which changes no sum, if the list doesn't contain the document.
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
    const RangeEntries entries = entries_in_range(batch_, term, docid / range_documents - batch_.first_range);
    const std::uint32_t document = docid % range_documents;
    const std::uint32_t least = entry_of(document, 0);
    const std::uint32_t place = batch_.is_cached ? lower_bound_by_eighths(entries.data, entries.count, least)
                                                 : lower_bound_by_guess(entries.data, entries.count, least);
    if (place == entries.count) return {};
    const std::uint32_t entry = entries.data[place], value = entry & 0xffff;
    if (document_of(entry) != document) return {};
    const EntryPlace& all = batch_.entries_of[term.list];
    Posting posting;
    posting.there = true;
    posting.number = all.begin + static_cast<std::uint32_t>(entries.data + place - batch_.entries - all.first_entry);
    if constexpr (quantized)
      posting.value = value < 0xffff ? value : 0;  // also the value of larger impacts
    else
      posting.value = freq_of_value(index_.constants[docid], value);
    return posting;
  }

  // Not inlined, and static: rare calls must not take registers from the rest.

  /// A posting's frequency or impact, by one lane; 0 if the block is damaged, which was counted when it was decoded.
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

// From candidates to results: scores those above the threshold by the CPU's operations, and sorts them.

/// Marks a candidate that the final threshold rules out.
inline constexpr Candidate no_candidate = no_key;

inline constexpr unsigned scoring_threads = plain_threads, scoring_warps = scoring_threads / lanes_per_warp;

/// Turns candidates into rank keys, or into no_candidate below the threshold. By warps.
template <Coding coding, int V, bool quantized>
class CandidateScores {
 public:
  __device__ CandidateScores(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : batch_(batch), scores_(index, batch, buffer) {}

  /// Scores this warp's candidates from RangeView::num_scored on. All warps divide a query's candidates, since a thread
  /// block per query would leave most of the GPU idle for a few hundred queries.
  __device__ void run() {
    const std::uint32_t own = blockIdx.x * scoring_warps + threadIdx.x / lanes_per_warp;
    const std::uint32_t warps = gridDim.x * scoring_warps;
    for (std::uint32_t number = own % batch_.num_queries; number < batch_.num_queries; number += warps) {
      const std::uint32_t query_warps =
          max(1u, warps / batch_.num_queries + (number < warps % batch_.num_queries ? 1 : 0));
      if (!batch_.has_all_candidates(number)) continue;  // the query runs again
      Candidate* candidates = batch_.candidates + std::uint64_t{number} * batch_.max_candidates;
      const std::uint32_t found = min(batch_.num_candidates[number], batch_.max_candidates);
      const unsigned at_once = lanes_per_warp / Scores::lanes_for(batch_.queries[number].terms);
      for (std::uint32_t i = scored_of(number) + own / batch_.num_queries * at_once; i < found;
           i += query_warps * at_once)
        score(number, candidates + i, min(found - i, at_once));
    }
    const std::uint32_t spare = min(*batch_.num_spare(), batch_.max_spare);
    for (std::uint32_t i = scored_of(batch_.num_queries) + own; i < spare; i += warps)
      score(batch_.spare[i].query, &batch_.spare[i].candidate, 1);
  }

 private:
  using Scores = ExactScores<coding, V, quantized>;

  __device__ std::uint32_t scored_of(std::uint32_t number) const {
    return batch_.num_scored == nullptr ? 0 : batch_.num_scored[number];
  }

  /// Scores `count` candidates, at most one per group of lanes.
  __device__ void score(std::uint32_t number, Candidate* candidates, std::uint32_t count) {
    const BatchQuery& query = batch_.queries[number];
    const unsigned lanes = Scores::lanes_for(query.terms), own = lane_id() / lanes;
    const Candidate unscored = own < count ? candidates[own] : Candidate{0};
    const auto docid = static_cast<std::uint32_t>(unscored), units = static_cast<std::uint32_t>(unscored >> 32);
    const bool wanted = own < count && units >= min_units(load_threshold(batch_, number), docid);
    const float score = query.exact_units ? __uint2float_rn(units) : scores_.score(query, docid, wanted);
    __syncwarp();
    if (own < count && lane_id() % lanes == 0) candidates[own] = wanted ? rank_key(score, docid) : no_candidate;
  }

  const RangeView& batch_;
  Scores scores_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(scoring_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  __shared__ WarpBuffers<V, scoring_threads> buffers;
  CandidateScores<coding, V, quantized>(index, batch, begin_decoding<coding>(buffers)).run();
}

/// Threads per thread block of finish_queries(): fewer if their buffers would exceed static shared memory.
template <int V>
inline constexpr unsigned finish_threads_of = V <= 8 ? finish_threads : finish_threads / 2;

/// Writes the results of one query, by a thread block.
template <Coding coding, int V, bool quantized>
class QueryFinish {
 public:
  __device__ QueryFinish(const IndexView& index, const RangeView& batch, Candidate* keys, std::uint32_t& kept,
                         std::uint32_t* buffer)
      : batch_(batch), keys_(keys), kept_(kept), scores_(index, batch, buffer) {}

  /// Writes the results of query `number`. `scored`: its candidates are rank keys already.
  __device__ void run(std::uint32_t number, bool scored) {
    if (!batch_.has_all_candidates(number)) return give_up(number);
    const BatchQuery& query = batch_.queries[number];
    const QueryThreshold threshold = load_threshold(batch_, number);
    const std::uint32_t found = batch_.num_candidates[number], own = min(found, batch_.max_candidates);
    // Number of sorted keys; there is room for at_once more.
    std::uint32_t kept = 0;
    const std::uint32_t at_once = batch_.sorted_candidates - batch_.k;
    const Candidate* candidates = batch_.candidates + std::uint64_t{number} * batch_.max_candidates;
    for (std::uint32_t first = 0; first < own; first += at_once)
      kept = merge(query, scored, kept, [&] {
        for (std::uint32_t i = first + threadIdx.x; i < min(own, first + at_once); i += threads)
          keep(query, threshold, candidates[i], scored);
      });
    const std::uint32_t spare = own < found ? *batch_.num_spare() : 0;
    for (std::uint32_t first = 0; first < spare; first += at_once)
      kept = merge(query, scored, kept, [&] {
        for (std::uint32_t i = first + threadIdx.x; i < min(spare, first + at_once); i += threads)
          if (batch_.spare[i].query == number) keep(query, threshold, batch_.spare[i].candidate, scored);
      });
    for (std::uint32_t i = threadIdx.x; i < kept; i += threads)
      batch_.results[std::uint64_t{number} * batch_.k + i] = keys_[i];
    if (threadIdx.x == 0) batch_.num_results[number] = kept;
  }

 private:
  static constexpr unsigned threads = finish_threads_of<V>;
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  /// Not all candidates were stored: the query must run again, from the threshold that it has reached.
  __device__ void give_up(std::uint32_t number) const {
    if (threadIdx.x > 0) return;
    batch_.num_results[number] = run_again;
    batch_.results[std::uint64_t{number} * batch_.k] = key_of(load_threshold(batch_, number));
  }

  /// Lets keep_more() add candidates to the `kept` sorted keys, sorts all, and returns the number of results.
  template <class KeepMore>
  __device__ std::uint32_t merge(const BatchQuery& query, bool scored, std::uint32_t kept, KeepMore&& keep_more) {
    if (threadIdx.x == 0) kept_ = kept;
    __syncthreads();
    keep_more();
    __syncthreads();
    const std::uint32_t all = kept_;
    if (all == kept) return kept;
    if (!scored && !query.exact_units) {
      score(query, kept, all);
      __syncthreads();
    }
    sort_keys(keys_, all);
    return min(all, batch_.k);
  }

  /// Copies a candidate that reaches the threshold to shared memory, as a rank key if its score is known.
  __device__ void keep(const BatchQuery& query, const QueryThreshold& threshold, Candidate key, bool scored) {
    const auto docid = static_cast<std::uint32_t>(key);
    if (scored) {
      if (key == no_candidate) return;
      const float score = __uint_as_float(~static_cast<std::uint32_t>(key >> 32));
      if (upper_units(query, score) < min_units(threshold, docid)) return;
    } else {
      const auto units = static_cast<std::uint32_t>(key >> 32);
      if (units < min_units(threshold, docid)) return;
      if (query.exact_units) key = rank_key(__uint2float_rn(units), docid);
    }
    keys_[atomicAdd(&kept_, 1u)] = key;
  }

  __device__ void score(const BatchQuery& query, std::uint32_t kept, std::uint32_t all) {
    const unsigned lanes = Scores::lanes_for(query.terms), at_once = lanes_per_warp / lanes;
    for (std::uint32_t first = kept + warp() * at_once; first < all; first += threads / lanes_per_warp * at_once) {
      const std::uint32_t own = first + lane_id() / lanes;
      const auto docid = static_cast<std::uint32_t>(own < all ? keys_[own] : 0);
      const float score = scores_.score(query, docid, own < all);
      if (own < all && lane_id() % lanes == 0) keys_[own] = rank_key(score, docid);
    }
  }

  using Scores = ExactScores<coding, V, quantized>;

  const RangeView& batch_;
  Candidate* keys_;
  std::uint32_t& kept_;
  Scores scores_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(finish_threads_of<V>)
    finish_queries(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch, bool scored) {
  __shared__ std::uint32_t kept;
  __shared__ WarpBuffers<V, finish_threads_of<V>> buffers;
  QueryFinish<coding, V, quantized> finish(index, batch, dynamic_shared<Candidate>(), kept,
                                           begin_decoding<coding>(buffers));
  for (std::uint32_t number = blockIdx.x; number < batch.num_queries; number += gridDim.x) {
    finish.run(number, scored);
    __syncthreads();
  }
}

}  // namespace quern::gpu
