#pragma once
#include "quern/gpu/worker/lookup.cuh"

/// Documents of a query's shortest list that all lists so far contain: at most V per lane of a warp, in any order.
namespace quern::gpu {

template <Coding coding, int V>
class LiveDocuments {
 public:
  using Decoder = typename DecoderOf<coding, V>::Type;

  __device__ LiveDocuments(const IndexView& index, std::uint32_t* buffer)
      : index_(index), buffer_{buffer}, decoder_(index, buffer_) {}

  __device__ std::uint32_t docid(int i) const { return docids_[i]; }
  __device__ bool alive(int i) const { return alive_ >> i & 1; }
  __device__ void drop(int i) { alive_ &= ~(1u << i); }
  __device__ void clear() { alive_ = 0; }
  __device__ void put(int i, std::uint32_t docid) {
    docids_[i] = docid;
    alive_ |= 1u << i;
  }
  /// Keeps only this lane's documents with set bits.
  __device__ void keep(unsigned bits) { alive_ &= bits; }
  __device__ unsigned alive() const { return alive_; }
  __device__ bool any() const { return __any_sync(all_lanes, alive_ != 0); }
  __device__ const Decoder& decoder() const { return decoder_; }

  /// Starts with the documents of a block. Returns false if the block is damaged.
  __device__ bool take_block(const BlockPlace& place) {
    alive_ = 0;
    if (!decode_docids<V>(index_, decoder_, place, docids_)) return false;
#pragma unroll
    for (int i = 0; i < V; ++i)  // a damaged row may hold any docID
      if (lane_id() * V + i < place.n && docids_[i] < index_.num_documents) alive_ |= 1u << i;
    return true;
  }
  /// Starts with `count` docIDs, at most V * 32.
  __device__ void take(const std::uint32_t* docids, std::uint32_t count) {
    alive_ = 0;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const unsigned place = lane_id() * V + i;
      docids_[i] = place < count ? docids[place] : 0;
      if (place < count) alive_ |= 1u << i;
    }
  }

  /// Keeps only documents for which has(docid) is true; each lane calls has() for its own documents.
  template <class Has>
  __device__ void keep_if(Has&& has) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (alive(i) && !has(docids_[i])) drop(i);
  }

  /// Keeps the documents that a list contains; decodes only blocks that may contain one. For each block that contains
  /// one, the warp calls found(block, place of the block, places) while the decoder still has the block open. places[i]
  /// is the index of this lane's document i in the block, or the block's size if the block doesn't contain it.
  template <class Found>
  __device__ void look_up(const ListView& list, Found&& found) {
    std::uint32_t rows[V];
    find_rows(list, rows);
    for (std::uint32_t next = 0;;) {
      std::uint32_t own = list.rows;
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (alive(i) && rows[i] >= next) own = min(own, rows[i]);
      const std::uint32_t row = __reduce_min_sync(all_lanes, own);
      if (row >= list.rows) return;
      match(list, row, rows, found);
      next = row + 1;
    }
  }

  /// Keeps the documents that one block of a list contains, and calls found() like look_up().
  template <class Found>
  __device__ void look_up_block(const ListView& list, std::uint32_t row, Found&& found) {
    std::uint32_t rows[V];
#pragma unroll
    for (int i = 0; i < V; ++i) rows[i] = row;
    match(list, row, rows, found);
  }

 private:
  /// Finds the block that may contain each document by the blocks' maximum docIDs.
  __device__ void find_rows(const ListView& list, std::uint32_t (&rows)[V]) {
    const std::uint32_t* last = index_.block_last + list.first_row;
    std::uint32_t lowest = 0xffffffffu, highest = 0;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (alive(i)) {
        lowest = min(lowest, docids_[i]);
        highest = max(highest, docids_[i]);
      }
    lowest = __reduce_min_sync(all_lanes, lowest);
    highest = warp_max(highest);
    const std::uint32_t begin = first_not_below(last, list.rows, lowest);
    // A single document needs one search.
    const std::uint32_t end =
        lowest == highest ? begin : begin + first_not_below(last + begin, list.rows - begin, highest);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      rows[i] = list.rows;
      if (!alive(i)) continue;
      rows[i] = lower_bound(last, begin, min(end, list.rows), docids_[i]);
      if (rows[i] >= list.rows) drop(i);
    }
  }

  template <class Found>
  __device__ void match(const ListView& list, std::uint32_t row, const std::uint32_t (&rows)[V], Found& found) {
    const BlockPlace place = place_of(index_, list, row);
    std::uint32_t docids[V];
    const bool sound = decode_docids<V>(index_, decoder_, place, docids);
    __syncwarp();
    for (int i = 0; i < V; ++i) buffer_.values[lane_id() * V + i] = docids[i];
    __syncwarp();
    bool any = false;
    std::uint32_t places[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      places[i] = place.n;
      if (!alive(i) || rows[i] != row) continue;
      const std::uint32_t at = lower_bound(buffer_.values, 0, place.n, docids_[i]);
      if (sound && at < place.n && buffer_.values[at] == docids_[i]) {
        places[i] = at;
        any = true;
      } else {
        drop(i);
      }
    }
    if (__any_sync(all_lanes, any)) found(row, place, places);
  }

  const IndexView& index_;
  WarpBuffer<V> buffer_;
  Decoder decoder_;
  std::uint32_t docids_[V];
  unsigned alive_ = 0;
};

}  // namespace quern::gpu
