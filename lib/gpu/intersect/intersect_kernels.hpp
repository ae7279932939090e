#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/intersect/intersect_view.cuh"

/// Launches of kernels for intersections without scores. For CUDA sources only.
namespace quern::gpu {

/// Kernels that decode blocks; one source per coding.
template <Coding coding>
struct IntersectLaunches {
  static void unpack(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
  /// Answers the queries with coded lists by block skipping: a warp per block of the shortest list.
  static void skip(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
  /// Answers these by Parallel Merge Find: a thread block per tile of the shortest list.
  static void merge_find(const IndexView& index, const IntersectView& batch, cudaStream_t stream);
};

/// Fills the docIDs or bits of the batch's tasks with zeros.
void clear_places(const IntersectView& batch, cudaStream_t stream);
void write_directories(const IntersectView& batch, cudaStream_t stream);
/// Answer the queries whose lists are all unpacked, by Quern's method, by Wu et al. and by Wang et al.
void probe(const IntersectView& batch, cudaStream_t stream);
void intersect_batched(const IntersectView& batch, cudaStream_t stream);
void intersect_hash_segments(const IntersectView& batch, cudaStream_t stream);
/// Answers the queries one list after another. `memory`: serial_words() words on the device. `arrays`: the batch.
void intersect_serially(const IntersectArrays& arrays, const IntersectView& batch, std::uint32_t* memory,
                        cudaStream_t stream);
std::size_t serial_words(const IntersectArrays& arrays);
/// Moves the results of all items to one array. `by_query`: each query has one item, of docIDs.
void pack(const IntersectView& batch, bool by_query, cudaStream_t stream);
/// The size of IntersectView::tile_sums.
std::uint32_t pack_tiles(std::uint32_t items);

}  // namespace quern::gpu
