#pragma once
#include "quern/gpu/rank/models/ranker_view.hpp"

namespace quern::gpu {

/// A model as kernels read it, in host memory.
struct RankerArrays {
  std::vector<InputStep> steps;
  std::vector<ColumnView> columns;
  std::vector<float> tables;
  std::vector<std::uint32_t> categories;
  std::vector<TreeGroup> groups;
  std::vector<std::uint32_t> group_words;
  std::vector<LargeTree> large_trees;
  std::vector<WalkNode> large_nodes;
  std::vector<double> large_leaves;
  std::vector<TreeInputView> inputs;
  std::vector<std::uint32_t> sum_ends;
  std::vector<LinearModel::Term> terms;
  std::vector<float> weights, bias;

  RankerView view;  ///< without pointers
  std::vector<LayerPlace> layers;

  /// The bytes of all arrays, each aligned to 256 bytes.
  std::uint64_t bytes() const;
};

/// Calls visit(array, pointer to it) for each array of a model and its pointer in a view.
template <class Visit>
void visit_arrays(const RankerArrays& arrays, RankerView& view, Visit&& visit) {
  visit(arrays.steps, view.steps);
  visit(arrays.columns, view.columns);
  visit(arrays.tables, view.tables);
  visit(arrays.categories, view.categories);
  visit(arrays.groups, view.groups);
  visit(arrays.group_words, view.group_words);
  visit(arrays.large_trees, view.large_trees);
  visit(arrays.large_nodes, view.large_nodes);
  visit(arrays.large_leaves, view.large_leaves);
  visit(arrays.inputs, view.inputs);
  visit(arrays.sum_ends, view.sum_ends);
  visit(arrays.terms, view.terms);
  visit(arrays.weights, view.weights);
  visit(arrays.bias, view.bias);
}

/// Prepares a model for kernels. Throws InvalidArgument like check_model(), or if a count exceeds 32 bits.
RankerArrays make_ranker_arrays(const RankerModel& model);

/// Trees in groups that fit shared memory.
struct TreeGroups {
  std::vector<TreeGroup> groups;
  std::vector<std::uint32_t> words;
};

/// Puts the trees of a program, except for walked ones, in groups. The program has at most node_column_limit columns.
/// `to_float`: leaves become float32.
TreeGroups make_tree_groups(const TreeProgram& program, bool to_float);

}  // namespace quern::gpu
