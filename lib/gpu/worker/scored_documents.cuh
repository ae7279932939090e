#pragma once
#include "quern/gpu/worker/live_documents.cuh"

/// Documents that a warp scores while it looks them up in one list after another, in the order of summation.
namespace quern::gpu {

template <Coding coding, int V, bool quantized>
class ScoredDocuments {
 public:
  __device__ ScoredDocuments(const IndexView& index, const BatchView& batch, std::uint32_t* buffer)
      : documents(index, buffer), index_(index), batch_(batch), buffer_{buffer} {}

  /// Starts with the documents of a block, or with 32 postings of a raw list, one per lane, and their first term
  /// scores. If the block is damaged, counts that and returns false.
  __device__ bool take(const BatchTerm& term, std::uint32_t block) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw) {
      const std::uint32_t i = block * lanes_per_warp + lane_id();
      documents.clear();
      if (i >= list.df) return true;
      documents.put(0, batch_.raw_docids[list.first_word + i]);
      begin_score(0, term.weight, batch_.raw_values[list.first_word + i]);
      return true;
    }
    const BlockPlace place = place_of(index_, list, block);
    std::uint32_t values[V];
    if (!documents.take_block(place) ||
        !read_values<quantized, V>(index_, documents.decoder(), list, block, place, values))
      return false;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (documents.alive(i)) begin_score(i, term.weight, values[i]);
    return true;
  }

  /// After take(): the posting of this lane's document 0; the others follow it.
  __device__ std::uint32_t first_place(const BatchTerm& term, std::uint32_t block) const {
    return batch_.lists[term.list].raw ? block * lanes_per_warp + lane_id() : block * index_.block_size + lane_id() * V;
  }

  /// Starts with `count` documents, at most V * 32, and their scores so far; V for each lane.
  __device__ void take(const std::uint32_t* docids, const float* so_far, std::uint32_t count) {
    documents.take(docids, count);
#pragma unroll
    for (int i = 0; i < V; ++i) scores[i] = documents.alive(i) ? so_far[lane_id() * V + i] : 0;
  }

  /// Keeps the documents that a block of a list with rows contains, and adds their term scores.
  __device__ void look_up_block(const BatchTerm& term, std::uint32_t row) {
    const ListView& list = batch_.lists[term.list];
    documents.look_up_block(list, row, [&](std::uint32_t, const BlockPlace& place, const std::uint32_t(&places)[V]) {
      add_found(list, term.weight, row, place, places);
    });
  }

  /// Keeps the documents that the list contains, and adds their term scores.
  __device__ void look_up(const BatchTerm& term) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw)
      look_up_raw(list, term.weight);
    else
      look_up_blocks(list, term.weight);
  }

  LiveDocuments<coding, V> documents;
  float scores[V];

 private:
  /// Sets a score to the static score plus the first term score.
  __device__ void begin_score(int i, float weight, std::uint32_t value) {
    const std::uint32_t docid = documents.docid(i);
    scores[i] = __fadd_rn(static_score_of(index_, docid), term_score<quantized>(index_, weight, docid, value));
  }
  __device__ void add(int i, float weight, std::uint32_t value) {
    scores[i] = __fadd_rn(scores[i], term_score<quantized>(index_, weight, documents.docid(i), value));
  }

  __device__ void look_up_raw(const ListView& list, float weight) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!documents.alive(i)) continue;
      std::uint32_t value = 0;
      if (find_raw_value(batch_, list, documents.docid(i), value))
        add(i, weight, value);
      else
        documents.drop(i);
    }
  }

  __device__ void look_up_blocks(const ListView& list, float weight) {
    documents.look_up(list, [&](std::uint32_t row, const BlockPlace& place, const std::uint32_t(&places)[V]) {
      add_found(list, weight, row, place, places);
    });
  }

  /// Adds the term scores of the postings at `places` in the block that was decoded last.
  __device__ void add_found(const ListView& list, float weight, std::uint32_t row, const BlockPlace& place,
                            const std::uint32_t (&places)[V]) {
    std::uint32_t values[V];
    values_at(list, row, place, places, values);
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (places[i] < place.n) add(i, weight, values[i]);
  }

  /// Reads frequencies (quantized: impacts) of the postings at `places` in the block that was decoded last.
  __device__ void values_at(const ListView& list, std::uint32_t row, const BlockPlace& place,
                            const std::uint32_t (&places)[V], std::uint32_t (&values)[V]) const {
    if constexpr (quantized) {
      const std::uint32_t* impacts = impact_words_of(index_, list, row);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (places[i] < place.n) values[i] = value_at(impacts, places[i] * list.impact_width, list.impact_width);
    } else if constexpr (std::remove_cvref_t<decltype(documents.decoder())>::has_single_freqs) {
      if (!documents.decoder().open_freqs()) report_damage(index_);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (__any_sync(all_lanes, places[i] < place.n))
          values[i] = documents.decoder().freq_at(min(places[i], place.n - 1));
      __syncwarp();
    } else {
      std::uint32_t freqs[V];
      if (!documents.decoder().freqs(freqs)) report_damage(index_);
      __syncwarp();
      for (int i = 0; i < V; ++i) buffer_.values[lane_id() * V + i] = freqs[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = buffer_.values[min(places[i], place.n - 1)];
    }
  }

  const IndexView& index_;
  const BatchView& batch_;
  WarpBuffer<V> buffer_;
};

}  // namespace quern::gpu
