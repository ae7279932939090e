#pragma once
#include "quern/gpu/range/range_batch.hpp"
#include "quern/gpu/worker/batch_view.cuh"

namespace quern::gpu {

/// A document that may be a result: units in the upper half, docID in the lower. Its RankKey replaces it when scored.
using Candidate = std::uint64_t;

/// A query's current threshold. Upper half: the minimum units of a result. Lower half: 2^32 - 1 minus the docID from
/// which a document with exactly these units is not a result. It only grows.
using ThresholdKey = std::uint64_t;

/// A batch on the device with the working memory of the strategy `range`.
struct RangeView : BatchView {
  const QuerySet* query_sets = nullptr;
  std::uint32_t num_query_sets = 0;
  ItemsView items;          ///< of intersections from entries
  std::uint32_t tasks = 0;  ///< of `and`: blocks of the queries' shortest lists
  std::uint32_t block_size = 0, num_documents = 0;

  std::uint32_t first_range = 0, ranges = 0;  ///< of the window or collection, range_documents docIDs each
  bool writes_max = true;                     ///< whether decoding a list sets the maximum value in each range
  bool reads_max = false;                     ///< whether queries use these

  bool is_cached = false;  ///< see cached_entries

  const float* static_scores = nullptr;       ///< per document; null: 0
  const float* range_static_score = nullptr;  ///< the maximum in each range
  const float* range_upper_bounds = nullptr;  ///< of scores in the range and after it; null: unknown

  const std::uint8_t* range_passes = nullptr;  ///< per range, whether any document passes; null: no filter

  ThresholdKey* thresholds = nullptr;       ///< per query
  std::uint32_t* steps = nullptr;           ///< [query][threshold_steps]: documents found, by lower bound of units
  std::uint32_t* max_docid = nullptr;       ///< per query, of the counted documents
  Candidate* candidates = nullptr;          ///< [query][max_candidates]
  SpareCandidate* spare = nullptr;          ///< of all queries, beyond their max_candidates, in any order
  std::uint32_t* num_candidates = nullptr;  ///< per query, spare ones included; last, all spare candidates
  std::uint32_t* num_scored = nullptr;      ///< per query, candidates that are rank keys already; null: none
  std::uint32_t max_candidates = 0, max_spare = 0;
  std::uint32_t sorted_candidates = 0;  ///< that a thread block sorts at a time: a power of two, above k

  __device__ std::uint32_t* num_spare() const { return num_candidates + num_queries; }
  /// Whether all candidates of a query were stored, once the search has ended.
  __device__ bool has_all_candidates(std::uint32_t query) const {
    return num_candidates[query] <= max_candidates || *num_spare() <= max_spare;
  }

  // A list in the arena BatchView::entries: see entry_of().

  /// Per range, and for the end: the list's first posting in the range or after it.
  __device__ std::uint32_t* starts(const EntryPlace& place) const { return entries + place.first_start; }
  /// Per range: the maximum value.
  __device__ std::uint32_t* range_max(const EntryPlace& place) const { return starts(place) + ranges + 1; }
};

}  // namespace quern::gpu
