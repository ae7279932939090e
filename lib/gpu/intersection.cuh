#pragma once
#include "quern/gpu/finish.cuh"
#include "quern/gpu/lookup.cuh"
#include "quern/gpu/prior.cuh"
#include "quern/gpu/tuning.hpp"

/// The intersection: a warp takes a block of the shortest list and looks its documents up in the other lists, of which
/// it decodes only the blocks that may hold one of them. The parts are added in the order of summation, so that scores
/// are exact from the start.
namespace quern::gpu {

/// Blocks of the shortest list that a warp takes at a time.
inline constexpr std::uint32_t tasks_at_a_time = 4;
/// Thread blocks that may share the shortest list's block: where there are more warps than blocks, each warp has a part
/// of one's documents, down to a single one.
inline constexpr std::uint32_t blocks_a_task = 16;

template <Coding coding, int V, bool quantized>
class IntersectionWarp {
 public:
  __device__ IntersectionWarp(const IndexView& index, const BatchView& batch, std::uint32_t* room)
      : index_(index), batch_(batch), room_{room}, decoder_(index, room_) {}

  __device__ void run() {
    constexpr std::uint32_t warps_a_block = plain_threads / lanes_a_warp;
    const std::uint32_t warps = gridDim.x * warps_a_block;
    const std::uint32_t own = blockIdx.x * warps_a_block + threadIdx.x / lanes_a_warp;
    // Parts are taken as tasks are: there are more of them only where tasks are few.
    unsigned shift = __ffs(block_documents) - 1;  // documents of a part, as a power of 2
    while (shift > 0 && (std::uint64_t{batch_.tasks} * block_documents >> (shift - 1)) <= warps) --shift;
    const std::uint32_t parts = block_documents >> shift, all = batch_.tasks * parts;
    // The first share needs no queue.
    const std::uint32_t step = all <= warps * tasks_at_a_time ? 1 : tasks_at_a_time;
    for (std::uint32_t work = own * step; work < all; work = warps * step + next_of_queue(step)) {
      const std::uint32_t end = min(work + step, all);
      std::uint32_t number = query_of(work / parts);
      for (std::uint32_t i = work; i < end; ++i) {
        const std::uint32_t task = i / parts;
        while (number + 1 < batch_.num_queries && batch_.queries[number + 1].first_task <= task) ++number;
        own_ = own_documents(i % parts, shift);
        answer(number, task - batch_.queries[number].first_task);
      }
      if (all <= warps * step) return;
    }
  }

 private:
  static constexpr std::uint32_t block_documents = V * lanes_a_warp;

  __device__ std::uint32_t next_of_queue(std::uint32_t step) const {
    std::uint32_t work = 0;
    if (lane_id() == 0) work = atomicAdd(batch_.next_work, step);
    return __shfl_sync(all_lanes, work, 0);
  }
  /// Of this lane's documents of a block those in a part of 2^shift documents.
  __device__ static std::uint32_t own_documents(std::uint32_t part, unsigned shift) {
    std::uint32_t own = 0;
#pragma unroll
    for (unsigned i = 0; i < V; ++i) own |= static_cast<std::uint32_t>((lane_id() * V + i) >> shift == part) << i;
    return own;
  }

  /// The last query whose first task is not behind this one.
  __device__ std::uint32_t query_of(std::uint32_t task) const {
    std::uint32_t begin = 0, end = batch_.num_queries;  // the answer is in [begin, end)
    while (end - begin > 1) {
      const std::uint32_t step = (end - begin + lanes_a_warp - 1) / lanes_a_warp;
      const std::uint32_t probe = begin + lane_id() * step;
      const bool before = probe < end && batch_.queries[probe].first_task <= task;
      const unsigned lane = 31 - __clz(__ballot_sync(all_lanes, before));
      begin += lane * step;
      end = min(end, begin + step);
    }
    return begin;
  }

  __device__ void answer(std::uint32_t number, std::uint32_t block) {
    const BatchQuery& query = batch_.queries[number];
    if (!take_block(number, batch_.terms[query.first_term], block)) return;
    alive_ &= own_;
    for (std::uint32_t t = 1; t < query.terms; ++t) {
      if (!__any_sync(all_lanes, alive_ != 0)) return;
      const BatchTerm& term = batch_.terms[query.first_term + t];
      const ListView& list = batch_.lists[term.list];
      if (list.raw)
        look_up_raw(list, term.weight);
      else
        look_up(list, term.weight);
    }
    hand_on(number, query);
  }

  /// The documents of a block of the shortest list, with their first part.
  __device__ bool take_block(std::uint32_t number, const BatchTerm& term, std::uint32_t block) {
    const ListView& list = batch_.lists[term.list];
    alive_ = 0;
    if (list.raw) {
      const std::uint32_t i = block * lanes_a_warp + lane_id();
#pragma unroll
      for (int j = 0; j < V; ++j) docids_[j] = 0, scores_[j] = 0;
      if (i < list.df) {
        docids_[0] = batch_.raw_docids[list.first_word + i];
        scores_[0] = begun(
            exact_part<quantized>(index_, term.weight, docids_[0], batch_.raw_values[list.first_word + i]), docids_[0]);
        alive_ = 1;
      }
      return true;
    }
    const BlockPlace place = place_of(index_, list, block);
    if (ended(number, place.before + 1)) return false;
    std::uint32_t values[V];
    if (!decode_docids<V>(index_, decoder_, place, docids_)) return false;
    if constexpr (quantized) {
      read_slots<V>(impact_words_of(index_, list, block), 0, list.impact_width, place.n, values);
    } else if (!decoder_.freqs(values)) {
      report_damage(index_);
      return false;
    }
#pragma unroll
    for (int i = 0; i < V; ++i) {
      // A damaged row may hold anything.
      if (lane_id() * V + i >= place.n || docids_[i] >= index_.num_documents) continue;
      alive_ |= 1u << i;
      scores_[i] = begun(exact_part<quantized>(index_, term.weight, docids_[i], values[i]), docids_[i]);
    }
    return true;
  }

  /// A score after its first addition.
  __device__ float begun(float part, std::uint32_t docid) const { return __fadd_rn(first_part(index_, docid), part); }

  /// No document from `docid` on is a result.
  __device__ bool ended(std::uint32_t number, std::uint32_t docid) const {
    if (batch_.range_ceilings == nullptr || docid >= index_.num_documents) return false;
    const Threshold threshold = load_threshold(batch_, number);
    return units_of_score(batch_.queries[number].scale, batch_.range_ceilings[docid / range_documents]) <
           threshold.units;
  }

  __device__ void look_up_raw(const ListView& list, float weight) {
    const std::uint32_t* docids = batch_.raw_docids + list.first_word;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!(alive_ >> i & 1)) continue;
      const std::uint32_t place = lower_bound(docids, 0, list.df, docids_[i]);
      add_or_drop(i, place < list.df && docids[place] == docids_[i], weight,
                  place < list.df ? batch_.raw_values[list.first_word + place] : 0);
    }
  }

  __device__ void add_or_drop(int i, bool found, float weight, std::uint32_t value) {
    if (found)
      scores_[i] = __fadd_rn(scores_[i], exact_part<quantized>(index_, weight, docids_[i], value));
    else
      alive_ &= ~(1u << i);
  }

  __device__ void look_up(const ListView& list, float weight) {
    const std::uint32_t* last = index_.block_last + list.first_row;
    std::uint32_t least = 0xffffffffu, greatest = 0;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (alive_ >> i & 1) {
        least = min(least, docids_[i]);
        greatest = max(greatest, docids_[i]);
      }
    least = __reduce_min_sync(all_lanes, least);
    greatest = warp_max(greatest);
    const std::uint32_t begin = first_not_below(last, list.rows, least);
    // A single document is searched for once.
    const std::uint32_t end =
        least == greatest ? begin : begin + first_not_below(last + begin, list.rows - begin, greatest);
    std::uint32_t rows[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      rows[i] = list.rows;
      if (!(alive_ >> i & 1)) continue;
      rows[i] = lower_bound(last, begin, min(end, list.rows), docids_[i]);
      if (rows[i] >= list.rows) alive_ &= ~(1u << i);
    }
    std::uint32_t next = 0;
    for (;;) {
      std::uint32_t own = list.rows;
#pragma unroll
      for (int i = 0; i < V; ++i)
        if ((alive_ >> i & 1) && rows[i] >= next) own = min(own, rows[i]);
      const std::uint32_t row = __reduce_min_sync(all_lanes, own);
      if (row >= list.rows) return;
      match(list, row, rows, weight);
      next = row + 1;
    }
  }

  /// Keeps of the documents that may be in a block those that are.
  __device__ void match(const ListView& list, std::uint32_t row, const std::uint32_t (&rows)[V], float weight) {
    const BlockPlace place = place_of(index_, list, row);
    std::uint32_t found[V], values[V];
    const bool sound = decode_docids<V>(index_, decoder_, place, found);
    __syncwarp();
    for (int i = 0; i < V; ++i) room_.values[lane_id() * V + i] = found[i];
    __syncwarp();
    bool any = false;
    std::uint32_t places[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      places[i] = place.n;
      if (!(alive_ >> i & 1) || rows[i] != row) continue;
      const std::uint32_t at = lower_bound(room_.values, 0, place.n, docids_[i]);
      if (sound && at < place.n && room_.values[at] == docids_[i]) {
        places[i] = at;
        any = true;
      } else {
        alive_ &= ~(1u << i);
      }
    }
    if (!__any_sync(all_lanes, any)) return;
    if constexpr (quantized) {
      const std::uint32_t* impacts = impact_words_of(index_, list, row);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (places[i] < place.n) values[i] = value_at(impacts, places[i] * list.impact_width, list.impact_width);
    } else if (decoder_.has_single_freqs()) {
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = decoder_.single_freq(min(places[i], place.n - 1));
    } else {
      if (!decoder_.freqs(found)) report_damage(index_);
      __syncwarp();
      for (int i = 0; i < V; ++i) room_.values[lane_id() * V + i] = found[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = room_.values[min(places[i], place.n - 1)];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (places[i] < place.n) add_or_drop(i, true, weight, values[i]);
  }

  __device__ void hand_on(std::uint32_t number, const BatchQuery& query) {
    const Threshold threshold = load_threshold(batch_, number);
    bool any = false;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!(alive_ >> i & 1)) continue;
      if (most_units(query, scores_[i]) < least_units(threshold, docids_[i])) continue;
      const auto units = static_cast<std::uint32_t>(scores_[i] * query.scale);
      add_candidate(batch_, query, number, docids_[i], min(units, greatest_units), rank_key(scores_[i], docids_[i]));
      any = true;
    }
    __threadfence();
    if (__any_sync(all_lanes, any)) raise_threshold(batch_, query, number);
  }

  const IndexView& index_;
  const BatchView& batch_;
  WarpRoom<V> room_;
  typename DecoderOf<coding, V>::Type decoder_;
  std::uint32_t docids_[V];
  float scores_[V];
  std::uint32_t alive_ = 0;  ///< a bit for each of the lane's documents that is in all lists so far
  std::uint32_t own_ = 0;    ///< a bit for each of its documents that is of this warp's part
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    run_intersection(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch) {
  __shared__ std::uint32_t rooms[plain_threads / lanes_a_warp * WarpRoom<V>::size];
  IntersectionWarp<coding, V, quantized>(index, batch, rooms + threadIdx.x / lanes_a_warp * WarpRoom<V>::size).run();
}

}  // namespace quern::gpu
