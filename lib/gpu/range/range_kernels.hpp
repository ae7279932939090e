#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/decode/block_place.hpp"
#include "quern/gpu/range/range_view.cuh"

/// Launches of the kernels of the strategy `range` that decode lists; one source per coding.
namespace quern::gpu {

template <Coding coding>
struct RangeKernels {
  /// Decodes a batch's lists to entries, the starts of ranges and, with RangeView::writes_max, the ranges' maxima.
  static void write_entries(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// Finds and scores the documents with all terms of each query, without entries.
  static void intersect(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// Scores the candidates of a few queries, by all warps. Call finish() with `scored` then.
  static void score(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// Writes the results of each query, from its candidates.
  static void finish(const IndexView& index, const RangeView& batch, bool quantized, bool scored, cudaStream_t stream);
  /// Decodes lists to arrays of docIDs, or distances, and frequencies.
  static void decode(const IndexView& index, const ListView* lists, std::uint32_t num_lists, const DecodeOutput& out,
                     cudaStream_t stream);
};

}  // namespace quern::gpu
