#pragma once
#include "quern/gpu/engine/batch_view.cuh"
#include "quern/gpu/range/range_batch.hpp"

namespace quern::gpu {

/// A document that may be among a query's results: units in the upper half, docID in the lower half. Replaced by its
/// RankKey when it is scored.
using Candidate = std::uint64_t;

/// A query's current threshold. Upper half: the minimum units of a result. Lower half: 2^32 - 1 minus the docID from
/// which on a document with exactly that many units is no result either. It only grows.
using ThresholdKey = std::uint64_t;

/// A batch on the device with the working memory of the strategy `range`.
struct RangeView : BatchView {
  const BatchChunk* chunks = nullptr;
  std::uint32_t num_chunks = 0;
  std::uint32_t tasks = 0;   ///< of `and`: blocks of the queries' shortest lists
  std::uint32_t blocks = 0;  ///< of all lists, or of all lists in the window
  std::uint32_t block_size = 0;

  std::uint32_t first_range = 0, ranges = 0;  ///< of the window, or all; of range_documents docIDs each
  std::uint32_t* entries = nullptr;    ///< one per posting: docID within its range above, value below, 16 bits each
  std::uint32_t* starts = nullptr;     ///< [list][ranges + 1]: the list's first posting in the range or after it
  std::uint32_t* range_max = nullptr;  ///< [list][ranges]: the maximum value in the range; null: not used

  const float* static_scores = nullptr;       ///< per document; null: 0
  const float* range_static_score = nullptr;  ///< the maximum in each range
  const float* range_upper_bounds = nullptr;  ///< of scores in the range and after it; null: unknown

  ThresholdKey* thresholds = nullptr;       ///< per query
  std::uint32_t* steps = nullptr;           ///< [query][threshold_steps]: documents found, by lower bound of units
  std::uint32_t* max_docid = nullptr;       ///< per query, of the counted documents
  Candidate* candidates = nullptr;          ///< [query][max_candidates]
  std::uint32_t* num_candidates = nullptr;  ///< per query; above max_candidates, those beyond it are lost
  std::uint32_t* num_scored = nullptr;      ///< per query, candidates that are rank keys already; null: none
  std::uint32_t max_candidates = 0;
};

}  // namespace quern::gpu
