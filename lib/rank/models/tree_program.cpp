#include "quern/rank/models/tree_program.hpp"

#include <bit>
#include <limits>

namespace quern {
namespace {

/// The thresholds of one input, by the side to which missing values go.
struct Thresholds {
  std::vector<float> values;
  std::uint32_t first_column = 0;
};

/// Numbers past a small table that are read with it.
constexpr std::size_t table_over_read = 16;

constexpr std::size_t max_columns = std::size_t{1} << 16, thresholds_per_column = 255;

/// The index of a node's Thresholds.
std::size_t thresholds_place(const TreeEnsemble& trees, const TreeNode& node) {
  const TreeInputKind kind = trees.inputs[node.input].kind;
  // Values that can't be missing need one side only.
  const bool can_miss = kind != TreeInputKind::nan_is_zero;
  return 2 * std::size_t{node.input} + (can_miss && node.missing_left ? 1 : 0);
}

/// Arranges ascending thresholds in the order of a binary search: fills entry i and those below it, from
/// thresholds[next] on.
void fill_search_table(std::span<const float> rising, std::span<float> table, std::size_t i, std::size_t& next) {
  if (i >= table.size()) return;
  fill_search_table(rising, table, 2 * i, next);
  table[i] = next < rising.size() ? rising[next] : std::numeric_limits<float>::infinity();
  ++next;
  fill_search_table(rising, table, 2 * i + 1, next);
}

class ProgramMaker {
 public:
  ProgramMaker(const TreeEnsemble& trees, bool with_planes) : trees_(trees), with_planes_(with_planes) {}

  TreeProgram make() {
    program_.trees.resize(trees_.trees());
    program_.first_walk_node.resize(trees_.trees());
    program_.leaves = trees_.leaves;
    find_inputs();
    find_thresholds();
    const bool too_many = !add_columns();
    for (std::uint64_t tree = 0; tree < trees_.trees(); ++tree)
      if (too_many || is_large(tree))
        add_walked(tree);
      else
        add_steps(tree);
    return std::move(program_);
  }

 private:
  std::uint64_t nodes_of(std::uint64_t tree) const { return trees_.first_node[tree + 1] - trees_.first_node[tree]; }
  std::span<const TreeNode> tree_nodes(std::uint64_t tree) const {
    return std::span(trees_.nodes).subspan(trees_.first_node[tree], nodes_of(tree));
  }
  bool is_large(std::uint64_t tree) const { return nodes_of(tree) >= max_step_leaves; }

  void find_inputs() {
    std::vector<std::uint8_t> used(trees_.inputs.size());
    for (const TreeNode& node : trees_.nodes) used[node.input] = 1;
    for (std::uint32_t input = 0; input < used.size(); ++input)
      if (used[input] != 0) program_.used_inputs.push_back(input);
  }

  void find_thresholds() {
    thresholds_.resize(2 * trees_.inputs.size());
    for (std::uint64_t tree = 0; tree < trees_.trees(); ++tree) {
      if (is_large(tree)) continue;
      for (const TreeNode& node : tree_nodes(tree))
        thresholds_[thresholds_place(trees_, node)].values.push_back(node.threshold);
    }
    for (Thresholds& all : thresholds_) {
      std::sort(all.values.begin(), all.values.end());
      // Zeros of both signs are one threshold.
      all.values.erase(std::unique(all.values.begin(), all.values.end()), all.values.end());
    }
  }

  /// False if there are more columns than steps can refer to.
  bool add_columns() {
    std::size_t count = 0;
    for (const Thresholds& all : thresholds_)
      count += (all.values.size() + thresholds_per_column - 1) / thresholds_per_column;
    if (count > max_columns) return false;
    for (std::size_t place = 0; place < thresholds_.size(); ++place) {
      thresholds_[place].first_column = static_cast<std::uint32_t>(program_.columns.size());
      const std::span<const float> all = thresholds_[place].values;
      for (std::size_t at = 0; at < all.size(); at += thresholds_per_column)
        add_column(place, all.subspan(at, std::min(thresholds_per_column, all.size() - at)));
    }
    program_.tables.resize(program_.tables.size() + table_over_read);
    return true;
  }

  void add_column(std::size_t place, std::span<const float> thresholds) {
    RankColumn column;
    column.input = static_cast<std::uint32_t>(place / 2);
    column.levels = static_cast<std::uint32_t>(std::bit_width(thresholds.size()));
    column.table = program_.tables.size();
    const bool missing_left = place % 2 == 1;
    column.missing =
        static_cast<std::int8_t>(missing_left ? -rank_bias : static_cast<int>(thresholds.size()) - rank_bias);
    program_.tables.resize(program_.tables.size() + (std::size_t{1} << column.levels));
    std::size_t next = 0;
    fill_search_table(thresholds, std::span(program_.tables).subspan(column.table), 1, next);
    program_.columns.push_back(column);
  }

  void add_walked(std::uint64_t tree) {
    StepTree& made = program_.trees[tree];
    made.walked = true;
    made.leaves = static_cast<std::uint32_t>(nodes_of(tree) + 1);
    made.first_leaf = trees_.first_leaf[tree];
    program_.first_walk_node[tree] = program_.walk_nodes.size();
    for (const TreeNode& node : tree_nodes(tree))
      program_.walk_nodes.push_back(
          {node.threshold, 2 * node.input + (node.missing_left ? 1 : 0), node.left, node.right});
  }

  void add_steps(std::uint64_t tree) {
    const std::span<const TreeNode> nodes = tree_nodes(tree);
    StepTree& made = program_.trees[tree];
    made.first_leaf = trees_.first_leaf[tree];
    made.leaves = static_cast<std::uint32_t>(nodes.size() + 1);
    made.steps = static_cast<std::uint16_t>(nodes.size());
    made.first_step = program_.steps.size();
    made.first_high = program_.high_deltas.size();
    measure(nodes, made);
    const std::vector<std::uint16_t> places = order(nodes, made);
    program_.steps.resize(made.first_step + nodes.size() + 1);
    program_.high_deltas.resize(made.first_high + made.wide);
    for (std::size_t i = 0; i < nodes.size(); ++i) put_step(nodes[i], deltas_[i], places, places[i], made);
    // Walks that have reached a leaf stay here: no rank is greater than 127.
    program_.steps.back() = {0, 127, 0, {made.steps, made.steps}};
    if (with_planes_ && made.leaves <= 256) add_planes(made);
  }

  /// Numbers the leaves from left to right, and finds each node's delta.
  void measure(std::span<const TreeNode> nodes, StepTree& made) {
    // The number of leaves below each node, and the first of them.
    std::vector<std::uint32_t> below(nodes.size()), first(nodes.size());
    const auto leaves_below = [&](std::int32_t child) {
      return child < 0 ? 1 : below[static_cast<std::size_t>(child)];
    };
    for (std::size_t i = nodes.size(); i-- > 0;) below[i] = leaves_below(nodes[i].left) + leaves_below(nodes[i].right);
    deltas_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t first_right = first[i] + leaves_below(nodes[i].left);
      deltas_[i] = byte_difference(first_right, first[i]);
      const auto number = [&](std::int32_t child, std::uint32_t leaf) {
        if (child < 0) {
          const std::uint64_t old = made.first_leaf + static_cast<std::uint32_t>(-(child + 1));
          program_.leaves[made.first_leaf + leaf] = trees_.leaves[old];
          return;
        }
        first[static_cast<std::size_t>(child)] = leaf;
      };
      number(nodes[i].left, first[i]);
      number(nodes[i].right, first_right);
    }
  }

  static std::uint32_t byte_difference(std::uint32_t to, std::uint32_t from) {
    return (((to >> 8) - (from >> 8)) & 0xff) << 8 | ((to - from) & 0xff);
  }

  /// The step number of each node: first nodes that change the upper byte of leaf numbers or have a descendant that
  /// does, then those with inner children, then those with leaves only; each kind in the order of nodes, parents first.
  std::vector<std::uint16_t> order(std::span<const TreeNode> nodes, StepTree& made) {
    std::vector<std::uint8_t> kinds(nodes.size());
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const TreeNode& node = nodes[i];
      bool wide = deltas_[i] > 0xff;
      for (const std::int32_t child : {node.left, node.right})
        wide |= child >= 0 && kinds[static_cast<std::size_t>(child)] == 0;
      kinds[i] = wide ? 0 : node.left >= 0 || node.right >= 0 ? 1 : 2;
    }
    std::vector<std::uint16_t> places(nodes.size());
    std::uint16_t next = 0;
    for (std::uint8_t kind = 0; kind < 3; ++kind) {
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (kinds[i] == kind) places[i] = next++;
      if (kind == 0) made.wide = next;
      if (kind == 1) made.inner = next;
    }
    return places;
  }

  void put_step(const TreeNode& node, std::uint32_t delta, std::span<const std::uint16_t> places, std::uint16_t place,
                const StepTree& made) {
    const Thresholds& all = thresholds_[thresholds_place(trees_, node)];
    const auto found = std::lower_bound(all.values.begin(), all.values.end(), node.threshold);
    const auto rank = static_cast<std::size_t>(found - all.values.begin());
    const auto step_of = [&](std::int32_t child) {
      return child < 0 ? made.steps : places[static_cast<std::size_t>(child)];
    };
    TreeStep& step = program_.steps[made.first_step + place];
    step.column = static_cast<std::uint16_t>(all.first_column + rank / thresholds_per_column);
    step.threshold = static_cast<std::int8_t>(static_cast<int>(rank % thresholds_per_column) - rank_bias);
    step.delta = static_cast<std::uint8_t>(delta);
    step.children = {step_of(node.left), step_of(node.right)};
    if (place < made.wide) program_.high_deltas[made.first_high + place] = static_cast<std::uint8_t>(delta >> 8);
  }

  void add_planes(StepTree& made) {
    const std::size_t bytes = plane_bytes(made.leaves);
    made.first_plane = program_.planes.size();
    program_.planes.resize(made.first_plane + 8 * bytes);
    for (std::size_t leaf = 0; leaf < made.leaves; ++leaf) {
      const auto bits = std::bit_cast<std::uint64_t>(program_.leaves[made.first_leaf + leaf]);
      for (std::size_t byte = 0; byte < 8; ++byte)
        program_.planes[made.first_plane + byte * bytes + leaf] = static_cast<std::uint8_t>(bits >> (8 * byte));
    }
  }

  const TreeEnsemble& trees_;
  bool with_planes_;
  TreeProgram program_;
  std::vector<Thresholds> thresholds_;
  std::vector<std::uint32_t> deltas_;  ///< of the current tree, by node
};

}  // namespace

TreeProgram make_tree_program(const TreeEnsemble& trees, bool with_planes) {
  return ProgramMaker(trees, with_planes).make();
}

}  // namespace quern
