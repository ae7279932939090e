#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/worker/query_batch.hpp"

namespace quern::gpu {

/// A document's score and docID as one number, as in TopK. Better documents have smaller keys.
using RankKey = std::uint64_t;

__device__ inline RankKey rank_key(float score, std::uint32_t docid) {
  return RankKey{~__float_as_uint(score)} << 32 | docid;
}

/// Ranks after every document.
inline constexpr RankKey no_key = ~RankKey{0};

__device__ inline float score_of_key(RankKey key) { return __uint_as_float(~static_cast<std::uint32_t>(key >> 32)); }

/// A batch on the device, and its space for results, as all strategies take them.
struct BatchView {
  const ListView* lists = nullptr;
  const BatchTerm* terms = nullptr;
  const BatchQuery* queries = nullptr;
  const std::uint32_t* raw_docids = nullptr;
  const std::uint32_t* raw_values = nullptr;
  std::uint32_t* entries = nullptr;        ///< the arena of decoded lists; null: the strategy decodes none
  const EntryPlace* entries_of = nullptr;  ///< per list, its place in the arena; null: lists are not decoded as a whole
  std::uint32_t blocks = 0;                ///< to decode in all lists; a raw list counts as one block
  std::uint32_t num_lists = 0, num_queries = 0;
  std::uint32_t k = 0;
  std::uint32_t* next_work = nullptr;    ///< a counter that starts at 0, from which thread blocks or warps take work
  RankKey* results = nullptr;            ///< [query][k]: best first
  std::uint32_t* num_results = nullptr;  ///< per query, or run_again
  std::uint32_t first_docid = 0, end_docid = 0xffffffffu;  ///< the window: only its documents are results
  /// Per query: only documents with smaller keys are results. Null: all.
  const RankKey* limits = nullptr;
  /// A bit per document, for whole ranges: set if it may be a result. Null: all.
  const std::uint32_t* passing = nullptr;

  __device__ bool has(std::uint32_t docid) const { return docid - first_docid < end_docid - first_docid; }
  __device__ bool passes(std::uint32_t docid) const {
    return passing == nullptr || (passing[docid / 32] >> docid % 32 & 1) != 0;
  }
  __device__ RankKey limit_of(std::uint32_t query) const { return limits == nullptr ? no_key : limits[query]; }
};

/// Calls answer(number) for queries until all have been taken. Called by a whole thread block; `number` is shared
/// memory.
template <class Answer>
__device__ inline void for_each_query(const BatchView& batch, std::uint32_t& number, Answer&& answer) {
  for (;;) {
    if (threadIdx.x == 0) number = atomicAdd(batch.next_work, 1u);
    __syncthreads();
    const std::uint32_t own = number;
    if (own >= batch.num_queries) return;
    answer(own);
    __syncthreads();
  }
}

/// In BatchView::num_results: the query must run again, from the threshold in the upper half of its first result.
inline constexpr std::uint32_t run_again = 0xffffffffu;

}  // namespace quern::gpu
