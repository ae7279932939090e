#pragma once
#include "quern/gpu/engine/query_batch.hpp"

namespace quern::gpu {

/// A document that may be among a query's results: its units above, its docID below. Or, scored, a key that is the
/// smaller the better the document ranks, as in TopK.
using Candidate = std::uint64_t;

/// What a query's threshold is at the time: units that no result is below, above 2^32 - 1 less the docID from which on
/// documents of just so many units are none either. It only grows.
using ThresholdKey = std::uint64_t;

/// A batch on the device, with what is found.
struct BatchView {
  const ListView* lists = nullptr;
  const BatchTerm* terms = nullptr;
  const BatchQuery* queries = nullptr;
  const BatchChunk* chunks = nullptr;
  const std::uint32_t* raw_docids = nullptr;
  const std::uint32_t* raw_values = nullptr;
  std::uint32_t num_lists = 0, num_queries = 0, num_chunks = 0;
  std::uint32_t tasks = 0;  ///< of `and`

  std::uint32_t blocks = 0;  ///< of all lists

  std::uint32_t ranges = 0;            ///< of range_documents docIDs each
  std::uint32_t* entries = nullptr;    ///< a posting each: docID within its range above, value below, 16 bits each
  std::uint32_t* starts = nullptr;     ///< [list][ranges + 1]: the first posting in the range or behind
  std::uint32_t* range_max = nullptr;  ///< [list][ranges]: the greatest value in the range; null: not wanted

  const float* static_scores = nullptr;       ///< of each document: what its score begins with; null: 0
  const float* range_static_score = nullptr;  ///< the greatest of each range
  const float* range_upper_bounds = nullptr;  ///< no document of the range, or behind it, scores more; null: unknown

  ThresholdKey* thresholds = nullptr;       ///< of each query
  std::uint32_t* steps = nullptr;           ///< [query][threshold_steps]: documents found, by their least units
  std::uint32_t* max_docid = nullptr;       ///< among those
  Candidate* candidates = nullptr;          ///< [query][room]
  std::uint32_t* num_candidates = nullptr;  ///< of each query; more than the room where some found none
  std::uint32_t room = 0;
  std::uint32_t k = 0;
  std::uint32_t* next_work = nullptr;    ///< the queue of thread blocks
  Candidate* results = nullptr;          ///< [query][k]: keys, best first
  std::uint32_t* num_results = nullptr;  ///< of each query, or no_room
};

/// Of BatchView::num_results: candidates found no room; the query's one result is what its threshold was in the end.
inline constexpr std::uint32_t no_room = 0xffffffffu;

}  // namespace quern::gpu
