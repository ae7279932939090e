#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/decode/block_place.hpp"
#include "quern/gpu/range/range_view.cuh"

/// Launches, one source per coding. What they need of the device is in the views.
namespace quern::gpu {

template <Coding coding>
struct Kernels {
  /// Decodes the lists of a batch to entries, starts and, where wanted, the greatest values of ranges.
  static void write_entries(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// The documents with all of their terms, scored; from the lists themselves.
  static void intersect(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// Scores the candidates of a few queries; finish() has them as `scored` then.
  static void score(const IndexView& index, const RangeView& batch, bool quantized, cudaStream_t stream);
  /// From candidates to results.
  static void finish(const IndexView& index, const RangeView& batch, bool quantized, bool scored, cudaStream_t stream);
  /// Decodes lists to memory.
  static void decode(const IndexView& index, const ListView* lists, std::uint32_t num_lists, const DecodeOutput& out,
                     cudaStream_t stream);
};

}  // namespace quern::gpu
