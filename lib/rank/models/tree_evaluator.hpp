#pragma once
#include <limits>

#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/kernels.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/rank/models/tree_program.hpp"

namespace quern {

/// Evaluates trees over many documents: computes the ranks of features first, then processes blocks of documents with
/// runs of trees that stay in the cache.
class TreeEvaluator {
 public:
  /// The trees must pass check_model().
  TreeEvaluator(const TreeEnsemble& trees, SimdLevel level);

  /// Fills scores[d] with the sums of the documents' leaves, in the way that TreeEnsemble defines.
  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

  /// Writes the leaves of up to documents_per_block documents as float32: documents_per_block values per tree; those
  /// past the documents are arbitrary.
  void store(const FeatureColumns& block, float* leaves, StageClock& clock) const;

 private:
  class Chunk;

  /// Consecutive trees evaluated together.
  struct Run {
    std::uint64_t first = 0, end = 0;
    bool walked = false;
    bool ends_group = false;  ///< a sum ends with it
  };

  void add_runs(std::uint64_t first, std::uint64_t end, bool ends_group);
  void score_chunk(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;
  void add_run(const Run& run, const Chunk& chunk, std::size_t block, double* sums) const;
  std::size_t chunk_documents() const;

  const RankerKernels& kernels_;
  TreeProgram program_;
  std::vector<TreeInput> inputs_;
  std::vector<Run> runs_;
  double base_;
  bool to_float32_;
  std::size_t groups_;
};

// Walks from root to leaf, for few documents or very large trees.

/// Finds the leaves of one document in the trees [first, first + leaves.size()), which have steps. The document's ranks
/// begin at `ranks` and are documents_per_block apart.
void walk_steps(const TreeProgram& program, std::uint64_t first, const std::int8_t* ranks, std::span<double> leaves);

/// The leaf of one document in a tree without steps; values[i] are the documents' values of input i.
double walk_nodes(const TreeProgram& program, std::uint64_t tree, std::span<const float* const> values,
                  std::size_t document);

// Inputs of trees and linear models, for the CPU and GPUs.

/// Whether a number is one of the ascending categories.
constexpr bool is_category(const std::uint32_t* categories, std::size_t count, std::uint32_t wanted) {
  // Not std::binary_search(), which gives wrong results in kernels (CUDA 13).
  std::size_t begin = 0, end = count;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (categories[middle] == wanted) return true;
    if (categories[middle] < wanted)
      begin = middle + 1;
    else
      end = middle;
  }
  return false;
}

/// Whether a feature's value, truncated to an integer, is one of the ascending categories.
constexpr bool is_in_categories(const std::uint32_t* categories, std::size_t count, float x) {
  return x > -1.0f && x < 4294967296.0f && is_category(categories, count, static_cast<std::uint32_t>(x));
}

/// The input of a tree for a feature's value x; NaN if it is missing.
constexpr float input_value(TreeInputKind kind, const std::uint32_t* categories, std::size_t count, float x) {
  switch (kind) {
    case TreeInputKind::zero_missing:
      return (x < 0 ? -x : x) <= 1e-35f ? std::numeric_limits<float>::quiet_NaN() : x;
    case TreeInputKind::nan_is_zero:
      return x != x ? 0.0f : x;
    case TreeInputKind::in_categories:
      if (x != x) return x;
      return is_in_categories(categories, count, x) ? 0.0f : 1.0f;
    case TreeInputKind::in_values:
      if (x != x) return x;
      return is_category(categories, count, value_key(x)) ? 0.0f : 1.0f;
    default:
      return x;
  }
}
inline float input_value(const TreeInput& input, float x) {
  return input_value(input.kind, input.categories.data(), input.categories.size(), x);
}

/// Whether a document with this value of a node's input (NaN: missing) goes left.
constexpr bool goes_left(float value, float threshold, bool missing_left) {
  return value <= threshold || (missing_left && value != value);
}

/// The input of a linear model for a feature's value x: 0 if it is missing.
constexpr double linear_input(float x) { return x == x ? static_cast<double>(x) : 0.0; }

/// Normalizes NaN, whose sign and payload differ between processors.
constexpr double settled(double score) { return score == score ? score : std::numeric_limits<double>::quiet_NaN(); }

}  // namespace quern
