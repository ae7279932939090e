#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersect/intersect_batch.hpp"

namespace quern::gpu {

/// A batch of intersections on the device, with its results. `end_docid` is at most the number of documents.
struct IntersectView : IntersectSizes {
  const IntersectList* lists = nullptr;
  const std::uint32_t* terms = nullptr;
  const IntersectQuery* queries = nullptr;
  const std::uint32_t* raw_docids = nullptr;
  const UnpackTask* unpack = nullptr;
  std::uint32_t num_unpack = 0, num_queries = 0;
  std::uint32_t num_documents = 0;  ///< of the collection
  unsigned levels = 0;              ///< of merge-find

  std::uint32_t* unpacked = nullptr;   ///< the memory for unpacked lists
  std::uint32_t* results = nullptr;    ///< all items' space for results: see IntersectQuery
  std::uint32_t* counts = nullptr;     ///< documents found, per item
  std::uint32_t* offsets = nullptr;    ///< per item: documents found by the items before it in its tile
  std::uint32_t* tile_sums = nullptr;  ///< per tile: documents found by the tiles before it
  std::uint32_t* begins = nullptr;     ///< per query, where its packed documents begin; then the end of the last
  std::uint32_t* documents = nullptr;  ///< the packed documents of all queries
  std::uint32_t* next_item = nullptr;  ///< three queues: items that decode, other items, and all items for packing

  constexpr bool is_window() const { return first_docid > 0 || end_docid < num_documents; }
  __device__ bool has(std::uint32_t docid) const { return first_docid <= docid && docid < end_docid; }
};

/// A list that needs no decoding.
struct UnpackedList {
  const std::uint32_t* words = nullptr;   ///< rising docIDs, or bits
  const std::uint32_t* starts = nullptr;  ///< the directory of buckets
  std::uint32_t df = 0;
  ListFormat format = ListFormat::documents;
  std::uint8_t bucket_shift = 0;
  std::uint32_t first_docid = 0;  ///< of the first bucket

  __device__ UnpackedList(const IntersectView& batch, const IntersectList& list)
      : words(list.coded.raw != 0 ? batch.raw_docids + list.coded.first_word
                                  : batch.unpacked + list.unpacked.first_word),
        starts(batch.unpacked + list.unpacked.first_bucket),
        df(list.coded.df),
        format(list.unpacked.format),
        bucket_shift(list.unpacked.bucket_shift),
        first_docid(list.unpacked.first_docid) {}

  /// Whether the list contains a document of the window; `docid` must be below the number of documents.
  __device__ bool has(std::uint32_t docid) const {
    if (format == ListFormat::bits) return words[docid >> 5] >> (docid & 31) & 1;
    if (format == ListFormat::buckets) return bucket_has(words, df, starts, bucket_shift, first_docid, docid);
    const std::uint32_t place = lower_bound(words, 0, df, docid);
    return place < df && words[place] == docid;
  }
};

/// Items that a warp takes from the queue at a time.
inline constexpr std::uint32_t items_at_a_time = 4;

/// The query in [begin, end) to which an item belongs. Called by a whole warp.
__device__ inline std::uint32_t query_of_item(const IntersectQuery* queries, std::uint32_t begin, std::uint32_t end,
                                              std::uint32_t item) {
  return last_begun(begin, end, item, [&](std::uint32_t i) { return queries[i].first_item; });
}

/// The queries and items of a kernel, and their queue.
struct ItemRange {
  std::uint32_t first_query = 0, end_query = 0, first_item = 0, end_item = 0;
  std::uint32_t* next = nullptr;

  /// Queries that decode lists.
  __device__ static ItemRange coded(const IntersectView& batch) {
    return {0, batch.coded_queries, 0, batch.coded_items, batch.next_item};
  }
  /// Queries whose lists are all unpacked.
  __device__ static ItemRange unpacked(const IntersectView& batch) {
    return {batch.coded_queries, batch.num_queries, batch.coded_items, batch.items, batch.next_item + 1};
  }
};

/// Calls take(query, item, its number in the query) for items from the queue until it is empty. Called by a whole warp.
template <class Take>
__device__ inline void for_each_item(const IntersectView& batch, const ItemRange& range, Take&& take) {
  for (;;) {
    std::uint32_t item = range.first_item + take_for_warp(range.next, items_at_a_time);
    if (item >= range.end_item) return;
    const std::uint32_t end = min(item + items_at_a_time, range.end_item);
    std::uint32_t number = query_of_item(batch.queries, range.first_query, range.end_query, item);
    for (; item < end; ++item) {
      while (number + 1 < range.end_query && batch.queries[number + 1].first_item <= item) ++number;
      const IntersectQuery& query = batch.queries[number];
      take(query, item, item - query.first_item);
    }
  }
}

__device__ inline std::uint32_t* results_of_item(const IntersectView& batch, const IntersectQuery& query,
                                                 std::uint32_t place) {
  return batch.results + query.first_word + std::uint64_t{place} * query.item_size;
}

__device__ inline const IntersectList& list_of(const IntersectView& batch, const IntersectQuery& query,
                                               std::uint32_t t) {
  return batch.lists[batch.terms[query.first_term + t]];
}

}  // namespace quern::gpu
