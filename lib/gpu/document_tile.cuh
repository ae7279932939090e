#pragma once
#include "quern/gpu/lookup.cuh"

/// Documents that a warp holds, up to V a lane, while they are looked up in list after list: of a list only the blocks
/// are decoded that may hold one of them.
namespace quern::gpu {

template <Coding coding, int V, bool quantized>
class DocumentTile {
 public:
  __device__ DocumentTile(const IndexView& index, const BatchView& batch, std::uint32_t* room)
      : index_(index), batch_(batch), room_{room}, decoder_(index, room_) {}

  /// The documents of a block of a list, lane by lane, with their first part; of a raw list those of 32 postings, one a
  /// lane. False where the block is damaged, and counted.
  __device__ bool take(const BatchTerm& term, std::uint32_t block) {
    const ListView& list = batch_.lists[term.list];
    alive = 0;
    if (list.raw) {
      const std::uint32_t i = block * lanes_a_warp + lane_id();
#pragma unroll
      for (int j = 0; j < V; ++j) docids[j] = 0, scores[j] = 0;
      if (i < list.df) {
        docids[0] = batch_.raw_docids[list.first_word + i];
        scores[0] = begun(exact_part<quantized>(index_, term.weight, docids[0], batch_.raw_values[list.first_word + i]),
                          docids[0]);
        alive = 1;
      }
      return true;
    }
    const BlockPlace place = place_of(index_, list, block);
    std::uint32_t values[V];
    if (!read_postings<quantized, V>(index_, decoder_, list, block, place, docids, values)) return false;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      // A damaged row may hold anything.
      if (lane_id() * V + i >= place.n || docids[i] >= index_.num_documents) continue;
      alive |= 1u << i;
      scores[i] = begun(exact_part<quantized>(index_, term.weight, docids[i], values[i]), docids[i]);
    }
    return true;
  }

  /// Keeps the documents that are in the list too, and adds their parts of it.
  __device__ void look_up(const BatchTerm& term) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw)
      look_up_raw(list, term.weight);
    else
      look_up_blocks(list, term.weight);
  }

  std::uint32_t docids[V];  ///< in any order
  float scores[V];
  std::uint32_t alive = 0;  ///< a bit for each of the lane's documents that is in all lists so far

 private:
  /// A score after its first addition.
  __device__ float begun(float part, std::uint32_t docid) const { return __fadd_rn(first_part(index_, docid), part); }

  __device__ void look_up_raw(const ListView& list, float weight) {
    const std::uint32_t* all = batch_.raw_docids + list.first_word;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!(alive >> i & 1)) continue;
      const std::uint32_t place = lower_bound(all, 0, list.df, docids[i]);
      add_or_drop(i, place < list.df && all[place] == docids[i], weight,
                  place < list.df ? batch_.raw_values[list.first_word + place] : 0);
    }
  }

  __device__ void add_or_drop(int i, bool found, float weight, std::uint32_t value) {
    if (found)
      scores[i] = __fadd_rn(scores[i], exact_part<quantized>(index_, weight, docids[i], value));
    else
      alive &= ~(1u << i);
  }

  __device__ void look_up_blocks(const ListView& list, float weight) {
    const std::uint32_t* last = index_.block_last + list.first_row;
    std::uint32_t least = 0xffffffffu, greatest = 0;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (alive >> i & 1) {
        least = min(least, docids[i]);
        greatest = max(greatest, docids[i]);
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
      if (!(alive >> i & 1)) continue;
      rows[i] = lower_bound(last, begin, min(end, list.rows), docids[i]);
      if (rows[i] >= list.rows) alive &= ~(1u << i);
    }
    std::uint32_t next = 0;
    for (;;) {
      std::uint32_t own = list.rows;
#pragma unroll
      for (int i = 0; i < V; ++i)
        if ((alive >> i & 1) && rows[i] >= next) own = min(own, rows[i]);
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
      if (!(alive >> i & 1) || rows[i] != row) continue;
      const std::uint32_t at = lower_bound(room_.values, 0, place.n, docids[i]);
      if (sound && at < place.n && room_.values[at] == docids[i]) {
        places[i] = at;
        any = true;
      } else {
        alive &= ~(1u << i);
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

  const IndexView& index_;
  const BatchView& batch_;
  WarpRoom<V> room_;
  typename DecoderOf<coding, V>::Type decoder_;
};

}  // namespace quern::gpu
