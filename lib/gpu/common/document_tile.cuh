#pragma once
#include "quern/gpu/common/live_documents.cuh"

/// Documents that a warp scores while they are looked up in list after list. The parts are added in the order of
/// summation, so that scores are exact from the start.
namespace quern::gpu {

template <Coding coding, int V, bool quantized>
class DocumentTile {
 public:
  __device__ DocumentTile(const IndexView& index, const BatchView& batch, std::uint32_t* room)
      : documents(index, room), index_(index), batch_(batch), room_{room} {}

  /// The documents of a block of a list, lane by lane, with their first part; of a raw list those of 32 postings, one a
  /// lane. False where the block is damaged, and counted.
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

  /// Keeps the documents that are in the list too, and adds their parts of it.
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
  /// A score's first addition.
  __device__ void begin_score(int i, float weight, std::uint32_t value) {
    const std::uint32_t docid = documents.docid(i);
    scores[i] = __fadd_rn(first_part(index_, docid), exact_part<quantized>(index_, weight, docid, value));
  }
  __device__ void add(int i, float weight, std::uint32_t value) {
    scores[i] = __fadd_rn(scores[i], exact_part<quantized>(index_, weight, documents.docid(i), value));
  }

  __device__ void look_up_raw(const ListView& list, float weight) {
    const std::uint32_t* docids = batch_.raw_docids + list.first_word;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!documents.alive(i)) continue;
      const std::uint32_t docid = documents.docid(i), place = lower_bound(docids, 0, list.df, docid);
      if (place < list.df && docids[place] == docid)
        add(i, weight, batch_.raw_values[list.first_word + place]);
      else
        documents.drop(i);
    }
  }

  __device__ void look_up_blocks(const ListView& list, float weight) {
    documents.look_up(list, [&](std::uint32_t row, const BlockPlace& place, const std::uint32_t(&places)[V]) {
      std::uint32_t values[V];
      values_at(list, row, place, places, values);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (places[i] < place.n) add(i, weight, values[i]);
    });
  }

  /// Frequencies, or impacts, of some of the postings of the block that was decoded last.
  __device__ void values_at(const ListView& list, std::uint32_t row, const BlockPlace& place,
                            const std::uint32_t (&places)[V], std::uint32_t (&values)[V]) const {
    if constexpr (quantized) {
      const std::uint32_t* impacts = impact_words_of(index_, list, row);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (places[i] < place.n) values[i] = value_at(impacts, places[i] * list.impact_width, list.impact_width);
    } else if (documents.decoder().has_single_freqs()) {
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = documents.decoder().single_freq(min(places[i], place.n - 1));
    } else {
      std::uint32_t freqs[V];
      if (!documents.decoder().freqs(freqs)) report_damage(index_);
      __syncwarp();
      for (int i = 0; i < V; ++i) room_.values[lane_id() * V + i] = freqs[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = room_.values[min(places[i], place.n - 1)];
    }
  }

  const IndexView& index_;
  const BatchView& batch_;
  WarpRoom<V> room_;
};

}  // namespace quern::gpu
