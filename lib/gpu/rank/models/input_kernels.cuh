#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/rank/models/ranker_tuning.hpp"
#include "quern/gpu/rank/models/ranker_view.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

/// Documents that are scored together, and their working memory. A kernel is a struct, called once per thread with the
/// thread block's dynamic shared memory, on a GPU or an emulated one. Kernels compute whole tiles.
namespace quern::gpu {

/// Working memory by rows of `stride` documents, a multiple of tile_documents.
struct ScoringView {
  FeatureColumns features;
  std::size_t stride = 0;
  float* inputs = nullptr;         ///< for networks: RankerView::rows rows
  double* leaves = nullptr;        ///< for other models: a row per tree
  std::uint32_t* ranks = nullptr;  ///< RankerView::num_words rows
  double* scores = nullptr;        ///< FeatureColumns::documents

  constexpr std::size_t tiles() const { return (features.documents + tile_documents - 1) / tile_documents; }
};

/// The row for the leaves of a tree: float32 for networks, whose inputs they are, else double.
template <class Leaf>
__device__ inline Leaf* leaf_row(const RankerView& ranker, const ScoringView& batch, std::uint32_t tree) {
  if constexpr (sizeof(Leaf) == sizeof(float))
    return batch.inputs + (std::size_t{ranker.num_steps} + tree) * batch.stride;
  else
    return batch.leaves + std::size_t{tree} * batch.stride;
}

/// The warp's number among those of all thread blocks, and the number of all warps.
template <unsigned threads>
__device__ inline std::uint64_t own_warp() {
  return std::uint64_t{blockIdx.x} * (threads / lanes_per_warp) + threadIdx.x / lanes_per_warp;
}
template <unsigned threads>
__device__ inline std::uint64_t all_warps() {
  return std::uint64_t{gridDim.x} * (threads / lanes_per_warp);
}

/// The input that a step makes of a document.
__device__ inline float transformed(const RankerView& ranker, const InputStep& step, const FeatureColumns& features,
                                    std::size_t document) {
  const float x = features.column(step.feature)[document];
  switch (step.kind) {
    case TransformationKind::linear:
      return apply_linear(x, step.parameters);
    case TransformationKind::log_linear:
      return apply_log_linear(x, step.parameters);
    case TransformationKind::bucket:
      return apply_bucket(x, step.parameters);
    case TransformationKind::free_form:
      return expression_value(ranker.expressions + step.first_step, step.steps,
                              [&](std::uint32_t feature) { return features.column(feature)[document]; });
  }
  return x;
}

__device__ inline float value_of(const RankerView& ranker, const TreeInputView& input, float x) {
  return input_value(input.kind, ranker.categories + input.first_category, input.categories, x);
}

/// The ranks of a document in the columns of a word, by searches whose loads are in flight together.
__device__ inline std::uint32_t rank_word(const RankerView& ranker, std::uint32_t word, const FeatureColumns& features,
                                          std::size_t document) {
  float values[columns_per_word];
  std::uint32_t places[columns_per_word], tables[columns_per_word], levels[columns_per_word], max_level = 0;
#pragma unroll
  for (unsigned j = 0; j < columns_per_word; ++j) {
    const ColumnView& column = ranker.columns[std::size_t{word} * columns_per_word + j];
    values[j] = value_of(ranker, column.input, features.column(column.input.feature)[document]);
    places[j] = 1;
    tables[j] = column.table;
    levels[j] = column.levels;
    max_level = max(max_level, levels[j]);
  }
  for (std::uint32_t level = 0; level < max_level; ++level) {
#pragma unroll
    for (unsigned j = 0; j < columns_per_word; ++j)
      if (level < levels[j])
        places[j] = 2 * places[j] + (values[j] > ranker.tables[std::size_t{tables[j]} + places[j]] ? 1 : 0);
  }
  std::uint32_t ranks = 0;
#pragma unroll
  for (unsigned j = 0; j < columns_per_word; ++j) {
    const std::uint32_t missing = ranker.columns[std::size_t{word} * columns_per_word + j].missing;
    const std::uint32_t rank = values[j] != values[j] ? missing : places[j] - (1u << levels[j]);
    ranks |= rank << (8 * j);
  }
  return ranks;
}

/// Fills the inputs that depend on one feature, and the words of ranks: a warp takes one, for a tile, at a time.
struct MakeInputs {
  static constexpr unsigned threads = input_threads;

  RankerView ranker;
  ScoringView batch;

  std::uint64_t tasks() const {
    return (std::uint64_t{ranker.num_steps} + ranker.num_words) * static_cast<std::uint64_t>(batch.tiles());
  }

  __device__ void operator()(std::uint32_t*) const {
    const std::uint64_t tiles = batch.tiles(), end = (std::uint64_t{ranker.num_steps} + ranker.num_words) * tiles;
    for (std::uint64_t task = own_warp<threads>(); task < end; task += all_warps<threads>()) {
      const auto what = static_cast<std::uint32_t>(task / tiles);
      const std::size_t document = task % tiles * tile_documents + lane_id();
      if (what < ranker.num_steps) {
        const InputStep step = ranker.steps[what];
        batch.inputs[step.row * batch.stride + document] = transformed(ranker, step, batch.features, document);
      } else {
        const std::uint32_t word = what - ranker.num_steps;
        batch.ranks[word * batch.stride + document] = rank_word(ranker, word, batch.features, document);
      }
    }
  }
};

/// A document's sum of leaves, tree by tree.
class LeafSum {
 public:
  __device__ explicit LeafSum(const RankerView& ranker)
      : ranker_(ranker), sum_(ranker.base), end_(ranker.num_sums == 0 ? ranker.trees : ranker.sum_ends[0]) {}

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
  /// The score is the mean of all groups' sums.
  __device__ void end_group() {
    total_ += sum_;
    sum_ = ranker_.base;
    ++group_;
    if (group_ < ranker_.num_sums) end_ = ranker_.sum_ends[group_];
  }

  const RankerView& ranker_;
  double sum_, total_ = 0;
  std::uint32_t next_ = 0, group_ = 0;
  std::uint32_t end_;  ///< the tree after the group's last
};

/// Adds up the leaves of trees: a thread block per tile. One warp adds while the others load leaves.
struct SumLeaves {
  static constexpr unsigned threads = sum_threads, warps = threads / lanes_per_warp;

  RankerView ranker;
  ScoringView batch;

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
    if (warp == 0 && document < batch.features.documents) batch.scores[document] = sum.score();
  }

 private:
  /// Loads the leaves of trees from `first` on; this warp loads every `step`-th one.
  __device__ void load(std::uint32_t first, std::size_t document, double* to, unsigned warp, unsigned step) const {
#pragma unroll 4
    for (std::uint32_t i = warp; i < trees_per_sum; i += step)
      if (first + i < ranker.trees)
        to[i * tile_documents + lane_id()] = batch.leaves[(std::size_t{first} + i) * batch.stride + document];
  }
};

/// Adds up the terms of a linear model: a thread per document.
struct SumTerms {
  static constexpr unsigned threads = term_threads;

  RankerView ranker;
  ScoringView batch;

  __device__ void operator()(std::uint32_t*) const {
    const std::size_t document = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (document >= batch.features.documents) return;
    double sum = ranker.base;
#pragma unroll 8
    for (std::uint32_t i = 0; i < ranker.num_terms; ++i) {
      const LinearModel::Term& term = ranker.terms[i];
      sum += term.weight * linear_input(batch.features.column(term.feature)[document]);
    }
    batch.scores[document] = settled(sum);
  }
};

}  // namespace quern::gpu
