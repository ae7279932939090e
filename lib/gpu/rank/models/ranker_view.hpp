#pragma once
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/transformation.hpp"
#include "quern/rank/models/tree_program.hpp"

/// A model as kernels read it: plain pointers and numbers.
namespace quern::gpu {

/// A transformation, and its row of inputs.
struct InputStep {
  TransformationKind kind = TransformationKind::linear;
  std::uint32_t feature = 0, row = 0;
  Parameters parameters;
  std::uint32_t first_step = 0, steps = 0;  ///< of RankerView::expressions, for free-form transformations
};

/// A tree's input. Its categories are [first_category, first_category + categories) of RankerView::categories.
struct TreeInputView {
  std::uint32_t feature = 0;
  TreeInputKind kind = TreeInputKind::value;
  std::uint32_t first_category = 0, categories = 0;
};

/// A column of ranks (tree_program.hpp); a rank is a byte from 0 to 255 here.
struct ColumnView {
  TreeInputView input;
  std::uint32_t table = 0;  ///< its place in RankerView::tables
  std::uint8_t levels = 0, missing = 0;
};

/// Columns per word of ranks, so that lanes that read different columns of their own documents use different banks.
inline constexpr std::uint32_t columns_per_word = 4;

/// An inner node in 32 bits. Nodes are in preorder: the left child is the next node. Going right skips as many nodes
/// and leaves as the left subtree has leaves.
///
///     bits   0-7 threshold: ranks above it go right      8-18 column      19-29 leaves of the left subtree
///            30 the left child is a leaf                 31 the right one is
inline constexpr unsigned node_column_shift = 8, node_jump_shift = 19, node_left_leaf = 30, node_right_leaf = 31;
inline constexpr std::uint32_t node_column_limit = 2048, node_jump_mask = 2047;

/// Trees that thread blocks walk in shared memory: words [first_word, first_word + words) of RankerView::group_words, a
/// multiple of four. First a GroupTree per tree, then nodes, then leaves from word `leaves` on: float for networks,
/// else double.
struct TreeGroup {
  std::uint64_t first_word = 0;
  std::uint32_t words = 0, leaves = 0, trees = 0;
};
struct GroupTree {
  static constexpr std::uint16_t no_node = 0xffff;  ///< the tree is a single leaf

  std::uint32_t tree = 0;                        ///< its number in the model
  std::uint16_t first_node = 0, first_leaf = 0;  ///< a word of the group; a number in the group's leaves
};

/// A tree that is walked in global memory, and its first nodes and leaves there.
struct LargeTree {
  std::uint32_t tree = 0, nodes = 0;
  std::uint64_t first_node = 0, first_leaf = 0;
};

/// A layer's places in RankerView::weights and RankerView::bias. An input's weights are `row` contiguous numbers,
/// a multiple of four: one for each of the layer's outputs, then zeros.
struct LayerPlace {
  std::uint64_t weights = 0, bias = 0;
  std::uint32_t inputs = 0, outputs = 0, row = 0;
  Activation activation = Activation::none;
};

enum class RankerKind : std::uint8_t { trees, linear, network };

/// A model in memory that kernels read. Arrays that its kind lacks are empty.
struct RankerView {
  RankerKind kind = RankerKind::trees;
  std::uint32_t features = 0;  ///< number of columns that the model reads
  std::uint32_t trees = 0;
  std::uint32_t rows = 0;  ///< inputs of the first layer

  const InputStep* steps = nullptr;  ///< sorted by kind, so that neighbouring warps do the same
  const ExpressionStep* expressions = nullptr;
  const ColumnView* columns = nullptr;
  std::uint32_t num_steps = 0, num_words = 0;  ///< columns are columns_per_word · num_words
  const float* tables = nullptr;
  const std::uint32_t* categories = nullptr;

  const TreeGroup* groups = nullptr;
  const std::uint32_t* group_words = nullptr;
  const LargeTree* large_trees = nullptr;
  const WalkNode* large_nodes = nullptr;
  const double* large_leaves = nullptr;
  const TreeInputView* inputs = nullptr;  ///< of large trees
  std::uint32_t num_groups = 0, num_large = 0;

  const std::uint32_t* sum_ends = nullptr;  ///< TreeEnsemble::group_ends
  std::uint32_t num_sums = 0;
  bool to_float32 = false;
  double base = 0;  ///< also of linear models

  const LinearModel::Term* terms = nullptr;
  std::uint32_t num_terms = 0;

  const float* weights = nullptr;
  const float* bias = nullptr;
};

/// A model as kernels read it, in host memory.
struct RankerArrays {
  std::vector<InputStep> steps;
  std::vector<ExpressionStep> expressions;
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
  visit(arrays.expressions, view.expressions);
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
