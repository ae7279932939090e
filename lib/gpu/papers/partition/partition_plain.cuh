#pragma once
#include "quern/gpu/papers/partition/partition_cursors.cuh"
#include "quern/gpu/papers/partition/partition_top.cuh"

/// Document-at-a-time algorithms by one thread, over the documents in [begin, end), without skipping.
namespace quern::gpu {

/// Documents with any of the terms.
template <Coding coding, bool quantized>
__device__ inline void unite_partition(const IndexView& index, PartitionCursors<coding, quantized>& cursors,
                                       LocalTop& top, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t terms = cursors.num_terms();
  std::uint32_t docid = no_more_docids;
  for (std::uint32_t t = 0; t < terms; ++t) {
    cursors.next_geq(t, begin);
    docid = min(docid, cursors.docid(t));
  }
  while (docid < end) {
    float score = static_score_of(index, docid);
    std::uint32_t next = no_more_docids;
    for (std::uint32_t t = 0; t < terms; ++t) {
      if (cursors.docid(t) == docid) {
        score = __fadd_rn(score, cursors.term_score(t));
        cursors.next(t);
      }
      next = min(next, cursors.docid(t));
    }
    top.add(docid, score);
    docid = next;
  }
}

/// Documents with all of the terms; candidates come from the shortest list.
template <Coding coding, bool quantized>
__device__ inline void intersect_partition(const IndexView& index, PartitionCursors<coding, quantized>& cursors,
                                           LocalTop& top, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t terms = cursors.num_terms();
  cursors.next_geq(0, begin);
  for (std::uint32_t docid = cursors.docid(0); docid < end; docid = cursors.docid(0)) {
    std::uint32_t t = 1, found = docid;
    for (; t < terms; ++t) {
      cursors.next_geq(t, docid);
      found = cursors.docid(t);
      if (found != docid) break;
    }
    if (found != docid) {
      if (found >= end) return;  // a window may have no block for it
      cursors.next_geq(0, found);
      continue;
    }
    float score = static_score_of(index, docid);
    for (t = 0; t < terms; ++t) score = __fadd_rn(score, cursors.term_score(t));
    top.add(docid, score);
    cursors.next(0);
  }
}

}  // namespace quern::gpu
