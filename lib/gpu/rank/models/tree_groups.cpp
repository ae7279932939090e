#include "quern/gpu/rank/models/tree_groups.hpp"

#include <algorithm>
#include <bit>

#include "quern/gpu/rank/models/ranker_tuning.hpp"

namespace quern::gpu {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint32_t), words_per_record = sizeof(GroupTree) / word_bytes;

/// A tree's nodes in preorder.
class PackedTree {
 public:
  PackedTree(const TreeProgram& program, const StepTree& tree) : tree_(tree), steps_(program.steps_of(tree)) {
    count_leaves();
    if (tree.steps != 0) visit();
  }

  const std::vector<std::uint32_t>& nodes() const { return nodes_; }

 private:
  bool is_leaf(std::uint16_t child) const { return child == tree_.steps; }

  /// Steps have their children behind them.
  void count_leaves() {
    leaves_.assign(tree_.steps + std::size_t{1}, 1);
    for (std::size_t i = tree_.steps; i-- > 0;)
      leaves_[i] = leaves_[steps_[i].children[0]] + leaves_[steps_[i].children[1]];
  }

  void visit() {
    std::vector<std::uint16_t> open = {0};
    while (!open.empty()) {
      const TreeStep& step = steps_[open.back()];
      open.pop_back();
      const auto [left, right] = step.children;
      nodes_.push_back(static_cast<std::uint32_t>(int{step.threshold} + rank_bias) |
                       std::uint32_t{step.column} << node_column_shift | leaves_[left] << node_jump_shift |
                       std::uint32_t{is_leaf(left)} << node_left_leaf |
                       std::uint32_t{is_leaf(right)} << node_right_leaf);
      if (!is_leaf(right)) open.push_back(right);
      if (!is_leaf(left)) open.push_back(left);
    }
  }

  const StepTree& tree_;
  const TreeStep* steps_;
  std::vector<std::uint32_t> leaves_;  ///< below each step; 1 for a leaf
  std::vector<std::uint32_t> nodes_;
};

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
  /// With what aligns leaves, and the group's end.
  static constexpr std::size_t alignment_bytes = 32;

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
      const PackedTree packed(program_, tree);
      words.insert(words.end(), packed.nodes().begin(), packed.nodes().end());
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
  std::vector<std::uint32_t> trees_;  ///< of the group at hand
  std::size_t bytes_ = alignment_bytes;
};

}  // namespace

TreeGroups make_tree_groups(const TreeProgram& program, bool to_float) { return GroupMaker(program, to_float).make(); }

}  // namespace quern::gpu
