#include "quern/rank/models/tree_walk.hpp"

#include <algorithm>
#include <array>

#include "quern/rank/models/tree_input.hpp"

namespace quern {
namespace {

/// Trees at a time: their loads don't wait for each other.
constexpr std::size_t walks_together = 8;

/// A document's way through one tree.
struct Walk {
  const TreeStep* steps = nullptr;
  std::uint32_t at = 0;
  std::uint8_t low = 0, high = 0;  ///< the leaf's number

  /// Returns whether the document went right.
  bool go(const std::int8_t* ranks) {
    const TreeStep& step = steps[at];
    const bool right = ranks[std::size_t{step.column} * documents_per_block] > step.threshold;
    // Without a branch, which would often be predicted wrongly.
    low = static_cast<std::uint8_t>(low + (step.delta & -static_cast<int>(right)));
    at = step.children[right ? 1 : 0];
    return right;
  }
};

/// A tree whose leaves have numbers of two bytes.
double walk_wide(const TreeProgram& program, const StepTree& tree, const std::int8_t* ranks) {
  Walk walk = {program.steps_of(tree)};
  while (walk.at < tree.steps) {
    const std::uint32_t from = walk.at;
    if (walk.go(ranks) && from < tree.wide)
      walk.high = static_cast<std::uint8_t>(walk.high + program.high_deltas[tree.first_high + from]);
  }
  return program.leaves_of(tree)[walk.high << 8 | walk.low];
}

void walk_some(const TreeProgram& program, std::uint64_t first, const std::int8_t* ranks, std::span<double> leaves) {
  std::array<Walk, walks_together> walks;
  bool going = false;  // there are no ranks if all trees of the program are leaves
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const StepTree& tree = program.trees[first + i];
    // One with numbers of two bytes goes by itself, below.
    walks[i] = {program.steps_of(tree), tree.wide != 0 ? tree.steps : 0u};
    going |= walks[i].at < tree.steps;
  }
  // Those that have come to their leaf stay there.
  while (going) {
    going = false;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      walks[i].go(ranks);
      going |= walks[i].at < program.trees[first + i].steps;
    }
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const StepTree& tree = program.trees[first + i];
    leaves[i] = tree.wide != 0 ? walk_wide(program, tree, ranks) : program.leaves_of(tree)[walks[i].low];
  }
}

}  // namespace

void walk_steps(const TreeProgram& program, std::uint64_t first, const std::int8_t* ranks, std::span<double> leaves) {
  for (std::size_t i = 0; i < leaves.size(); i += walks_together)
    walk_some(program, first + i, ranks, leaves.subspan(i, std::min(walks_together, leaves.size() - i)));
}

double walk_nodes(const TreeProgram& program, std::uint64_t tree, std::span<const float* const> values,
                  std::size_t document) {
  const WalkNode* const nodes = program.walk_nodes.data() + program.first_walk_node[tree];
  const double* const leaves = program.leaves_of(program.trees[tree]);
  if (program.trees[tree].leaves == 1) return leaves[0];
  std::int32_t at = 0;
  while (at >= 0) {
    const WalkNode& node = nodes[at];
    const float value = values[node.input_and_side / 2][document];
    at = goes_left(value, node.threshold, node.input_and_side % 2 == 1) ? node.left : node.right;
  }
  return leaves[-(at + 1)];
}

}  // namespace quern
