#pragma once
#include <cstddef>
#include <cstdint>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/rank/models/ranker_tuning.hpp"
#include "quern/gpu/rank/models/ranker_view.hpp"

/// Documents that are scored together, and their working memory. A kernel is a struct: CUDA calls it once a thread,
/// with the thread block's dynamic shared memory; so does an emulated GPU. All go on to whole tiles, of which only
/// scores are cut.
namespace quern::gpu {

/// Working memory by rows of `stride` documents, a multiple of tile_documents.
struct ChunkView {
  FeatureColumns features;
  std::size_t stride = 0;
  float* inputs = nullptr;         ///< of networks: RankerView::rows rows
  double* leaves = nullptr;        ///< of other models: a row for each tree
  std::uint32_t* ranks = nullptr;  ///< RankerView::num_words rows
  double* scores = nullptr;        ///< FeatureColumns::documents

  constexpr std::size_t tiles() const { return (features.documents + tile_documents - 1) / tile_documents; }
};

/// Where the leaves of a model's trees go: float32 for networks, whose inputs they are, else double.
template <class Leaf>
__device__ inline Leaf* leaf_row(const RankerView& ranker, const ChunkView& chunk, std::uint32_t tree) {
  if constexpr (sizeof(Leaf) == sizeof(float))
    return chunk.inputs + (std::size_t{ranker.num_steps} + tree) * chunk.stride;
  else
    return chunk.leaves + std::size_t{tree} * chunk.stride;
}

/// The warp's number among those of all thread blocks, and how many there are.
template <unsigned threads>
__device__ inline std::uint64_t own_warp() {
  return std::uint64_t{blockIdx.x} * (threads / lanes_per_warp) + threadIdx.x / lanes_per_warp;
}
template <unsigned threads>
__device__ inline std::uint64_t all_warps() {
  return std::uint64_t{gridDim.x} * (threads / lanes_per_warp);
}

}  // namespace quern::gpu
