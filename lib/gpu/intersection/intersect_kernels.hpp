#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/device/coding.hpp"
#include "quern/gpu/intersection/intersect_view.cuh"

/// Launches of intersections without scores. CUDA sources alone include this.
namespace quern::gpu {

/// Those that decode blocks, one source per coding.
template <Coding coding>
struct IntersectLaunches {
  /// Unpacks the lists of the batch's tasks.
  static void unpack(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
  /// The queries with coded lists, a block of the shortest list a warp.
  static void skip(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
  /// The same, a tile of the shortest list a thread block.
  static void merge_find(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
};

/// The directories of buckets of the batch's tasks.
void write_directories(const IntersectView& batch, cudaStream_t stream);
/// The queries whose lists are unpacked, by our method and by the papers'.
void probe(const IntersectView& batch, cudaStream_t stream);
void intersect_batched(const IntersectView& batch, cudaStream_t stream);
void intersect_hash_segments(const IntersectView& batch, cudaStream_t stream);
/// Moves what was found together; the counts of its parts are there. `by_query`: each query is one part, of docIDs.
void pack(const IntersectView& batch, bool by_query, cudaStream_t stream);
/// Words of IntersectView::tile_sums.
std::uint32_t tiles_of(std::uint32_t parts);

}  // namespace quern::gpu
