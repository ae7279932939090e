#pragma once
#include "quern/gpu/rank/models/chunk_view.cuh"
#include "quern/rank/models/tree_evaluator.hpp"

/// Scores of trees and of linear models: sums in double, in the model's order.
namespace quern::gpu {

/// A document's sum of leaves, tree by tree.
class LeafSum {
 public:
  __device__ explicit LeafSum(const RankerView& ranker)
      : ranker_(ranker), sum_(ranker.base), end_(ranker.num_sums == 0 ? ranker.trees : ranker.sum_ends[0]) {}

  /// Adds the leaf of the next tree.
  __device__ void add(double leaf) {
    while (next_ == end_) end_group();
    const double sum = sum_ + leaf;
    sum_ = ranker_.to_float32 ? static_cast<double>(static_cast<float>(sum)) : sum;
    ++next_;
  }

  __device__ double score() {
    if (ranker_.num_sums == 0) return settled(sum_);
    while (group_ < ranker_.num_sums) end_group();
    return settled(total_ / static_cast<double>(ranker_.num_sums));
  }

 private:
  /// The mean of all groups' sums is the score.
  __device__ void end_group() {
    total_ += sum_;
    sum_ = ranker_.base;
    ++group_;
    if (group_ < ranker_.num_sums) end_ = ranker_.sum_ends[group_];
  }

  const RankerView& ranker_;
  double sum_, total_ = 0;
  std::uint32_t next_ = 0, group_ = 0;
  std::uint32_t end_;  ///< tree behind the group's last
};

/// Adds up the leaves of trees: a thread block for each tile. One warp adds while the others bring leaves.
struct SumLeaves {
  static constexpr unsigned threads = sum_threads, warps = threads / lanes_per_warp;

  RankerView ranker;
  ChunkView chunk;

  __device__ void operator()(std::uint32_t*) const {
    __shared__ double leaves[2][trees_per_sum * tile_documents];
    const std::size_t document = blockIdx.x * tile_documents + lane_id();
    const unsigned warp = threadIdx.x / lanes_per_warp;
    load(0, document, leaves[0], warp, warps);
    LeafSum sum(ranker);
    for (std::uint32_t first = 0, turn = 0; first < ranker.trees; first += trees_per_sum, turn ^= 1) {
      __syncthreads();
      if (warp != 0) {
        load(first + trees_per_sum, document, leaves[turn ^ 1], warp - 1, warps - 1);
        continue;
      }
      const std::uint32_t some = min(trees_per_sum, ranker.trees - first);
#pragma unroll 8
      for (std::uint32_t i = 0; i < some; ++i) sum.add(leaves[turn][i * tile_documents + lane_id()]);
    }
    if (warp == 0 && document < chunk.features.documents) chunk.scores[document] = sum.score();
  }

 private:
  /// Brings the leaves of trees from `first` on; of this warp every `step`-th one.
  __device__ void load(std::uint32_t first, std::size_t document, double* to, unsigned warp, unsigned step) const {
#pragma unroll 4
    for (std::uint32_t i = warp; i < trees_per_sum; i += step)
      if (first + i < ranker.trees)
        to[i * tile_documents + lane_id()] = chunk.leaves[(std::size_t{first} + i) * chunk.stride + document];
  }
};

/// Adds up the terms of a linear model: a thread for each document.
struct SumTerms {
  static constexpr unsigned threads = term_threads;

  RankerView ranker;
  ChunkView chunk;

  __device__ void operator()(std::uint32_t*) const {
    const std::size_t document = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (document >= chunk.features.documents) return;
    double sum = ranker.base;
#pragma unroll 8
    for (std::uint32_t i = 0; i < ranker.num_terms; ++i) {
      const LinearModel::Term& term = ranker.terms[i];
      sum += term.weight * linear_input(chunk.features.column(term.feature)[document]);
    }
    chunk.scores[document] = settled(sum);
  }
};

}  // namespace quern::gpu
