#pragma once
#include "quern/gpu/rank/models/chunk_view.cuh"
#include "quern/rank/models/tree_evaluator.hpp"

/// What networks and trees read, made of features.
namespace quern::gpu {

__device__ inline float transformed(const InputStep& step, float x) {
  switch (step.kind) {
    case TransformationKind::linear:
      return apply_linear(x, step.parameters);
    case TransformationKind::log_linear:
      return apply_log_linear(x, step.parameters);
    case TransformationKind::bucket:
      return apply_bucket(x, step.parameters);
    case TransformationKind::free_form:
      return apply_free_function(step.function, x, step.parameters);
  }
  return x;
}

__device__ inline float value_of(const RankerView& ranker, const TreeInputView& input, float x) {
  return input_value(input.kind, ranker.categories + input.first_category, input.categories, x);
}

/// The ranks of a document in the columns of a word. The searches go on together, as their loads depend on one another.
__device__ inline std::uint32_t rank_word(const RankerView& ranker, std::uint32_t word, const FeatureColumns& features,
                                          std::size_t document) {
  float values[columns_per_word];
  std::uint32_t places[columns_per_word], tables[columns_per_word], levels[columns_per_word], most = 0;
#pragma unroll
  for (unsigned j = 0; j < columns_per_word; ++j) {
    const ColumnView& column = ranker.columns[std::size_t{word} * columns_per_word + j];
    values[j] = value_of(ranker, column.input, features.column(column.input.feature)[document]);
    places[j] = 1;
    tables[j] = column.table;
    levels[j] = column.levels;
    most = max(most, levels[j]);
  }
  for (std::uint32_t level = 0; level < most; ++level) {
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

/// Fills the inputs that are made of one feature, and the words of ranks: a warp takes one of them for a tile at a
/// time.
struct MakeInputs {
  static constexpr unsigned threads = input_threads;

  RankerView ranker;
  ChunkView chunk;

  std::uint64_t tasks() const {
    return (std::uint64_t{ranker.num_steps} + ranker.num_words) * static_cast<std::uint64_t>(chunk.tiles());
  }

  __device__ void operator()(std::uint32_t*) const {
    const std::uint64_t tiles = chunk.tiles(), end = (std::uint64_t{ranker.num_steps} + ranker.num_words) * tiles;
    for (std::uint64_t task = own_warp<threads>(); task < end; task += all_warps<threads>()) {
      const auto what = static_cast<std::uint32_t>(task / tiles);
      const std::size_t document = task % tiles * tile_documents + lane_id();
      if (what < ranker.num_steps) {
        const InputStep step = ranker.steps[what];
        chunk.inputs[step.row * chunk.stride + document] =
            transformed(step, chunk.features.column(step.feature)[document]);
      } else {
        const std::uint32_t word = what - ranker.num_steps;
        chunk.ranks[word * chunk.stride + document] = rank_word(ranker, word, chunk.features, document);
      }
    }
  }
};

}  // namespace quern::gpu
