#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "quern/core/feature_columns.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/kernels.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/rank/models/tree_program.hpp"

namespace quern {

/// Trees over many documents: ranks of features first, then trees in groups that stay in the cache while blocks of
/// documents go by.
class TreeEvaluator {
 public:
  /// check_model() must have passed the trees.
  TreeEvaluator(const TreeEnsemble& trees, SimdLevel level);

  /// Fills scores[d] with the sums of the documents' leaves, as TreeEnsemble says.
  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

  /// Writes the leaves of documents_per_block documents at most as float32: documents_per_block values for each tree,
  /// of which the rest may be anything.
  void store(const FeatureColumns& block, float* leaves, StageClock& clock) const;

 private:
  class Chunk;

  /// Consecutive trees that are evaluated together.
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

// Trees for few documents, or with very many nodes: from root to leaf, document by document.

/// The leaves of one document, whose ranks begin at `ranks` and are documents_per_block apart, in the trees
/// [first, first + leaves.size()), which have steps.
void walk_steps(const TreeProgram& program, std::uint64_t first, const std::int8_t* ranks, std::span<double> leaves);

/// The leaf of one document in a tree without steps; values[i] are those of input i by document.
double walk_nodes(const TreeProgram& program, std::uint64_t tree, std::span<const float* const> values,
                  std::size_t document);

// What trees and linear models read, for the CPU and GPUs.

/// Whether a feature's value, cut to an integer, is one of these categories, which rise.
constexpr bool is_in_categories(const std::uint32_t* categories, std::size_t count, float x) {
  if (!(x > -1.0f && x < 4294967296.0f)) return false;
  const auto wanted = static_cast<std::uint32_t>(x);
  // Not by std::binary_search(), which gives wrong results in kernels (CUDA 13).
  std::size_t begin = 0, end = count;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (categories[middle] == wanted) return true;
    if (categories[middle] < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return false;
}

/// What a tree reads where a feature has the value x; NaN if that is missing. `categories` are those of in_categories.
constexpr float input_value(TreeInputKind kind, const std::uint32_t* categories, std::size_t count, float x) {
  switch (kind) {
    case TreeInputKind::zero_missing:
      return (x < 0 ? -x : x) <= 1e-35f ? std::numeric_limits<float>::quiet_NaN() : x;
    case TreeInputKind::nan_is_zero:
      return x != x ? 0.0f : x;
    case TreeInputKind::in_categories:
      if (x != x) return x;
      return is_in_categories(categories, count, x) ? 0.0f : 1.0f;
    default:
      return x;
  }
}
inline float input_value(const TreeInput& input, float x) {
  return input_value(input.kind, input.categories.data(), input.categories.size(), x);
}

/// Whether a document with this value of a node's input, NaN if it is missing, goes left.
constexpr bool goes_left(float value, float threshold, bool missing_left) {
  return value <= threshold || (missing_left && value != value);
}

/// What a linear model reads where a feature has the value x: 0 if that is missing.
constexpr double linear_input(float x) { return x == x ? static_cast<double>(x) : 0.0; }

/// A score as rankers return it: NaN has one sign and no contents, which processors choose differently.
constexpr double settled(double score) { return score == score ? score : std::numeric_limits<double>::quiet_NaN(); }

}  // namespace quern
