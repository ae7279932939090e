#include "quern/gpu/rank/models/ranker_view.hpp"

#include <bit>

#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/ranker_tuning.hpp"
#include "quern/rank/models/ranker.hpp"

namespace quern::gpu {
namespace {

/// Converts a number to the kernels' 32 bits.
std::uint32_t counted(std::uint64_t number, const char* what) {
  if (number > std::numeric_limits<std::uint32_t>::max())
    throw InvalidArgument("a ranker of {} {} is too large for GPUs; use {} cpu", number, what, option_name<"device">);
  return static_cast<std::uint32_t>(number);
}

class ArraysMaker {
 public:
  RankerArrays make(const RankerModel& model) {
    made_.view.features = counted(model.features.size(), "features");
    std::visit([this](const auto& function) { add(function); }, model.function);
    return std::move(made_);
  }

 private:
  void add(const TreeEnsemble& trees) {
    made_.view.kind = RankerKind::trees;
    add_trees(trees, false);
    made_.view.base = trees.base;
    made_.view.to_float32 = trees.sum == TreeSum::float32;
    for (const std::uint64_t end : trees.group_ends) made_.sum_ends.push_back(counted(end, "trees"));
    made_.view.num_sums = counted(made_.sum_ends.size(), "groups of trees");
  }

  void add(const LinearModel& model) {
    made_.view.kind = RankerKind::linear;
    made_.view.base = model.intercept;
    made_.terms = model.terms;
    made_.view.num_terms = counted(model.terms.size(), "terms");
  }

  void add(const NetworkModel& model) {
    made_.view.kind = RankerKind::network;
    for (const Transformation& transformation : model.transformations) add_step(transformation);
    std::ranges::stable_sort(made_.steps, {}, &InputStep::kind);
    made_.view.num_steps = counted(made_.steps.size(), "transformations");
    add_trees(model.trees, true);
    made_.view.rows = counted(std::uint64_t{made_.view.num_steps} + made_.view.trees, "inputs");
    for (const DenseLayer& layer : model.layers) add_layer(layer);
  }

  void add_step(const Transformation& from) {
    InputStep step;
    step.kind = from.kind;
    step.feature = from.feature;
    step.row = counted(made_.steps.size(), "transformations");
    step.parameters = {from.p1, from.p2};
    step.first_step = counted(made_.expressions.size(), "steps of expressions");
    step.steps = counted(from.expression.size(), "steps of expressions");
    made_.expressions.insert(made_.expressions.end(), from.expression.begin(), from.expression.end());
    made_.steps.push_back(step);
  }

  void add_trees(const TreeEnsemble& trees, bool to_float) {
    made_.view.trees = counted(trees.trees(), "trees");
    for (const TreeInput& input : trees.inputs) {
      made_.inputs.push_back({input.feature, input.kind, counted(made_.categories.size(), "categories"),
                              counted(input.categories.size(), "categories")});
      made_.categories.insert(made_.categories.end(), input.categories.begin(), input.categories.end());
    }
    TreeProgram program = make_tree_program(trees, false);
    if (program.columns.size() > node_column_limit) {
      for (StepTree& tree : program.trees) tree.walked = true;
      program.columns.clear();
    }
    add_columns(program);
    TreeGroups groups = make_tree_groups(program, to_float);
    made_.groups = std::move(groups.groups);
    made_.group_words = std::move(groups.words);
    made_.view.num_groups = counted(made_.groups.size(), "groups of trees");
    for (std::uint32_t tree = 0; tree < made_.view.trees; ++tree)
      if (program.trees[tree].walked) add_large(trees, tree);
    made_.view.num_large = counted(made_.large_trees.size(), "trees");
  }

  void add_columns(const TreeProgram& program) {
    if (program.columns.empty()) return;
    for (const RankColumn& column : program.columns)
      made_.columns.push_back({made_.inputs[column.input], counted(column.table, "thresholds"),
                               static_cast<std::uint8_t>(column.levels),
                               static_cast<std::uint8_t>(int{column.missing} + rank_bias)});
    // The last word's other ranks are never read.
    while (made_.columns.size() % columns_per_word != 0) made_.columns.push_back(made_.columns.back());
    made_.view.num_words = counted(made_.columns.size() / columns_per_word, "columns");
    made_.tables = program.tables;
  }

  void add_large(const TreeEnsemble& trees, std::uint32_t tree) {
    const std::uint64_t first = trees.first_node[tree], end = trees.first_node[tree + 1];
    made_.large_trees.push_back(
        {tree, static_cast<std::uint32_t>(end - first), made_.large_nodes.size(), made_.large_leaves.size()});
    for (std::uint64_t i = first; i < end; ++i) {
      const TreeNode& node = trees.nodes[i];
      counted(2 * std::uint64_t{node.input} + 1, "inputs");
      made_.large_nodes.push_back(
          {node.threshold, 2 * node.input + (node.missing_left ? 1 : 0), node.left, node.right});
    }
    made_.large_leaves.insert(made_.large_leaves.end(),
                              trees.leaves.begin() + static_cast<std::ptrdiff_t>(trees.first_leaf[tree]),
                              trees.leaves.begin() + static_cast<std::ptrdiff_t>(trees.first_leaf[tree + 1]));
  }

  void add_layer(const DenseLayer& layer) {
    constexpr std::uint64_t unit = 4;
    LayerPlace place;
    place.weights = made_.weights.size();
    place.bias = made_.bias.size();
    place.inputs = layer.inputs;
    place.outputs = layer.outputs;
    place.row = counted((layer.outputs + unit - 1) / unit * unit, "neurons");
    place.activation = layer.activation;
    made_.weights.resize(place.weights + std::uint64_t{layer.inputs} * place.row);
    float* const to = made_.weights.data() + place.weights;
    for (std::uint64_t i = 0; i < layer.inputs; ++i)
      for (std::uint64_t j = 0; j < layer.outputs; ++j) to[i * place.row + j] = layer.weights[j * layer.inputs + i];
    made_.bias.insert(made_.bias.end(), layer.bias.begin(), layer.bias.end());
    made_.bias.resize(place.bias + place.row);
    made_.layers.push_back(place);
  }

  RankerArrays made_;
};

constexpr std::size_t word_bytes = sizeof(std::uint32_t), words_per_record = sizeof(GroupTree) / word_bytes;

/// A tree's nodes in preorder.
std::vector<std::uint32_t> packed_nodes(const TreeProgram& program, const StepTree& tree) {
  const TreeStep* const steps = program.steps_of(tree);
  const auto is_leaf = [&](std::uint16_t child) { return child == tree.steps; };
  // Leaves below each step; 1 for a leaf. Children follow their steps.
  std::vector<std::uint32_t> leaves(tree.steps + std::size_t{1}, 1), nodes;
  for (std::size_t i = tree.steps; i-- > 0;) leaves[i] = leaves[steps[i].children[0]] + leaves[steps[i].children[1]];
  std::vector<std::uint16_t> open;
  if (tree.steps != 0) open.push_back(0);
  while (!open.empty()) {
    const TreeStep& step = steps[open.back()];
    open.pop_back();
    const auto [left, right] = step.children;
    nodes.push_back(static_cast<std::uint32_t>(int{step.threshold} + rank_bias) |
                    std::uint32_t{step.column} << node_column_shift | leaves[left] << node_jump_shift |
                    std::uint32_t{is_leaf(left)} << node_left_leaf | std::uint32_t{is_leaf(right)} << node_right_leaf);
    if (!is_leaf(right)) open.push_back(right);
    if (!is_leaf(left)) open.push_back(left);
  }
  return nodes;
}

class GroupMaker {
 public:
  GroupMaker(const TreeProgram& program, bool to_float)
      : program_(program), to_float_(to_float), leaf_words_(to_float ? 1 : 2) {}

  TreeGroups make() {
    for (std::uint32_t tree = 0; tree < program_.trees.size(); ++tree) {
      const StepTree& next = program_.trees[tree];
      if (next.walked) continue;
      if (bytes_ + bytes_of(next) > group_bytes) end_group();
      trees_.push_back(tree);
      bytes_ += bytes_of(next);
    }
    end_group();
    return std::move(made_);
  }

 private:
  static constexpr std::size_t alignment_bytes = 32;  ///< padding of leaves and of the group's end

  std::size_t bytes_of(const StepTree& tree) const {
    return word_bytes * (words_per_record + tree.steps + std::size_t{leaf_words_} * tree.leaves);
  }

  void end_group() {
    if (trees_.empty()) return;
    std::vector<std::uint32_t> words(trees_.size() * words_per_record), leaves;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      const StepTree& tree = program_.trees[trees_[i]];
      GroupTree record;
      record.tree = trees_[i];
      record.first_node = tree.steps == 0 ? GroupTree::no_node : static_cast<std::uint16_t>(words.size());
      record.first_leaf = static_cast<std::uint16_t>(leaves.size() / leaf_words_);
      words[words_per_record * i] = record.tree;
      words[words_per_record * i + 1] = std::uint32_t{record.first_leaf} << 16 | record.first_node;
      const std::vector<std::uint32_t> nodes = packed_nodes(program_, tree);
      words.insert(words.end(), nodes.begin(), nodes.end());
      for (std::uint32_t leaf = 0; leaf < tree.leaves; ++leaf)
        add_leaf(program_.leaves[tree.first_leaf + leaf], leaves);
    }
    add_group(words, leaves);
    trees_.clear();
    bytes_ = alignment_bytes;
  }

  void add_leaf(double leaf, std::vector<std::uint32_t>& leaves) const {
    if (to_float_) return leaves.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(leaf)));
    const auto bits = std::bit_cast<std::uint64_t>(leaf);
    leaves.push_back(static_cast<std::uint32_t>(bits));
    leaves.push_back(static_cast<std::uint32_t>(bits >> 32));
  }

  void add_group(std::vector<std::uint32_t>& words, const std::vector<std::uint32_t>& leaves) {
    constexpr std::size_t unit = 4;
    const auto align = [&] { words.resize((words.size() + unit - 1) / unit * unit); };
    align();
    TreeGroup group;
    group.first_word = made_.words.size();
    group.leaves = static_cast<std::uint32_t>(words.size());
    group.trees = static_cast<std::uint32_t>(trees_.size());
    words.insert(words.end(), leaves.begin(), leaves.end());
    align();
    group.words = static_cast<std::uint32_t>(words.size());
    made_.groups.push_back(group);
    made_.words.insert(made_.words.end(), words.begin(), words.end());
  }

  const TreeProgram& program_;
  bool to_float_;
  std::uint32_t leaf_words_;
  TreeGroups made_;
  std::vector<std::uint32_t> trees_;  ///< of the current group
  std::size_t bytes_ = alignment_bytes;
};

}  // namespace

std::uint64_t RankerArrays::bytes() const {
  std::uint64_t sum = 0;
  RankerView unused;
  visit_arrays(*this, unused,
               [&](const auto& array, auto) { sum += (array.size() * sizeof(array[0]) + 255) / 256 * 256; });
  return sum;
}

RankerArrays make_ranker_arrays(const RankerModel& model) {
  check_model(model);
  return ArraysMaker().make(model);
}

TreeGroups make_tree_groups(const TreeProgram& program, bool to_float) { return GroupMaker(program, to_float).make(); }

}  // namespace quern::gpu
