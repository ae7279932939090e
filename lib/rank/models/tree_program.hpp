#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"

/// Trees made ready for many documents at once.
///
/// An input's value is only ever compared with the thresholds of the nodes that read it. So each input becomes one or
/// more *columns* of bytes: a value's *rank* in a column is how many of the column's thresholds (255 at most, rising)
/// are less than it; value <= threshold j holds where rank <= j. A missing value has the rank 0 in columns of nodes
/// that send it left, and the greatest one in others.
///
/// A tree is a list of *steps*, one for each inner node, parents before children. A step knows which documents reach
/// its node, and tells its children. A document's leaf is the sum of the deltas of the steps that send it right,
/// modulo 256, by bytes.
namespace quern {

/// Documents whose ranks lie together: a column of a block has this many bytes.
inline constexpr unsigned documents_per_block = 128;

/// Trees with more leaves are walked: most documents would not come near most of their nodes.
inline constexpr std::uint32_t max_step_leaves = 2048;

/// Ranks are stored less 128, since processors compare signed bytes.
inline constexpr int rank_bias = 128;

struct RankColumn {
  std::uint32_t input = 0;
  std::uint32_t levels = 0;  ///< of the search; the table has 2^levels numbers
  std::uint64_t table = 0;   ///< its place in TreeProgram::tables
  std::int8_t missing = 0;   ///< rank of a missing value
};

struct TreeStep {
  std::uint16_t column = 0;
  std::int8_t threshold = 0;  ///< documents with a greater rank go right
  std::uint8_t delta = 0;     ///< what going right adds to the leaf's number, its lower byte
  /// Steps for documents that go left and right; the tree's number of steps stands for a leaf.
  std::array<std::uint16_t, 2> children = {0, 0};
};

/// A tree's place in a program.
struct StepTree {
  /// The steps from here on, and one behind them at which walks stay.
  std::uint64_t first_step = 0;
  std::uint64_t first_leaf = 0;   ///< in TreeProgram::leaves
  std::uint64_t first_plane = 0;  ///< in TreeProgram::planes, of trees with up to 256 leaves
  std::uint64_t first_high = 0;   ///< in TreeProgram::high_deltas
  std::uint32_t leaves = 1;
  std::uint16_t wide = 0;   ///< the first so many steps also change the upper byte of the leaf's number
  std::uint16_t inner = 0;  ///< the first so many steps have a child that is a step
  std::uint16_t steps = 0;
  bool walked = false;  ///< has no steps, since it is too large
};

/// A node as walks read it, of a tree without steps.
struct WalkNode {
  float threshold = 0;
  std::uint32_t input_and_side = 0;  ///< 2 · input + 1 if missing values go left
  std::int32_t left = -1, right = -1;
};

struct TreeProgram {
  std::vector<RankColumn> columns;
  /// Thresholds as binary search meets them: 1 is the middle one, and 2i and 2i + 1 follow i. Infinity is put behind
  /// the last threshold.
  std::vector<float> tables;
  std::vector<StepTree> trees;
  std::vector<TreeStep> steps;
  std::vector<std::uint8_t> high_deltas;
  std::vector<double> leaves;  ///< of a tree with steps from left to right, of others in its own order
  /// Leaves byte by byte: eight runs of 64, 128 or 256 bytes.
  std::vector<std::uint8_t> planes;
  std::vector<WalkNode> walk_nodes;
  std::vector<std::uint64_t> first_walk_node;  ///< by tree; of walked ones alone
  /// The inputs that any tree reads, rising.
  std::vector<std::uint32_t> used_inputs;

  const TreeStep* steps_of(const StepTree& tree) const { return steps.data() + tree.first_step; }
  const double* leaves_of(const StepTree& tree) const { return leaves.data() + tree.first_leaf; }
};

/// Bytes of a plane of a tree with so many leaves, 256 at most.
constexpr std::uint32_t plane_bytes(std::uint32_t leaves) { return leaves <= 64 ? 64 : leaves <= 128 ? 128 : 256; }

/// The program of trees that check_model() passes; `with_planes`: with leaves as bytes, too.
TreeProgram make_tree_program(const TreeEnsemble& trees, bool with_planes);

}  // namespace quern
