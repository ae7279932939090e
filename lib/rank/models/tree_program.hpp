#pragma once
#include "quern/formats/rankers/ranker_model.hpp"

/// Trees compiled for many documents at once.
///
/// An input's value is only ever compared with the thresholds of the nodes that read it. So each input becomes one or
/// more *columns* of bytes: a value's *rank* in a column is the number of the column's thresholds (at most 255,
/// ascending) below it; value <= threshold j holds if rank <= j. A missing value has rank 0 in columns of nodes that
/// send it left, and the greatest rank in others.
///
/// A tree is a list of *steps*, one for each inner node, parents before children. A step knows which documents reach
/// its node, and passes them to its children. A document's leaf number is the sum of the deltas of the steps that send
/// it right, modulo 256, by bytes.
namespace quern {

/// Documents whose ranks are stored together: bytes of a column in a block.
inline constexpr unsigned documents_per_block = 128;

/// Trees with more leaves are walked: most documents reach few of their nodes.
inline constexpr std::uint32_t max_step_leaves = 2048;

/// Ranks are stored minus 128, since processors compare signed bytes.
inline constexpr int rank_bias = 128;

struct RankColumn {
  std::uint32_t input = 0;
  std::uint32_t levels = 0;  ///< of the binary search; the table has 2^levels numbers
  std::uint64_t table = 0;   ///< index into TreeProgram::tables
  std::int8_t missing = 0;   ///< rank of a missing value
};

/// A value's rank in a column, minus rank_bias.
inline std::int8_t rank_of(const RankColumn& column, const float* table, float value) {
  if (value != value) return column.missing;
  std::uint32_t place = 1;
  for (std::uint32_t level = 0; level < column.levels; ++level) place = 2 * place + (value > table[place] ? 1 : 0);
  return static_cast<std::int8_t>(static_cast<int>(place - (1u << column.levels)) - rank_bias);
}

struct TreeStep {
  std::uint16_t column = 0;
  std::int8_t threshold = 0;  ///< documents with a greater rank go right
  std::uint8_t delta = 0;     ///< lower byte of the addend to the leaf number for going right
  /// Steps for documents that go left and right; the tree's number of steps denotes a leaf.
  std::array<std::uint16_t, 2> children = {0, 0};
};

/// A tree's place in a program.
struct StepTree {
  /// The tree's first step; one more follows its last one, where walks stay.
  std::uint64_t first_step = 0;
  std::uint64_t first_leaf = 0;   ///< in TreeProgram::leaves
  std::uint64_t first_plane = 0;  ///< in TreeProgram::planes, for trees of up to 256 leaves
  std::uint64_t first_high = 0;   ///< in TreeProgram::high_deltas
  std::uint32_t leaves = 1;
  std::uint16_t wide = 0;   ///< number of first steps that may change the upper byte of the leaf number
  std::uint16_t inner = 0;  ///< number of first steps with a child that is a step
  std::uint16_t steps = 0;
  bool walked = false;  ///< too large to have steps
};

/// A node of a tree without steps, for walks.
struct WalkNode {
  float threshold = 0;
  std::uint32_t input_and_side = 0;  ///< 2 · input + 1 if missing values go left
  std::int32_t left = -1, right = -1;
};

struct TreeProgram {
  std::vector<RankColumn> columns;
  /// Thresholds in the order of a binary search: entry 1 is the middle one, and 2i and 2i + 1 follow i. Padded with
  /// infinity.
  std::vector<float> tables;
  std::vector<StepTree> trees;
  std::vector<TreeStep> steps;
  std::vector<std::uint8_t> high_deltas;
  std::vector<double> leaves;  ///< left to right for trees with steps, in the tree's own order for others
  /// Leaves split into bytes: eight runs of 64, 128 or 256 bytes per tree.
  std::vector<std::uint8_t> planes;
  std::vector<WalkNode> walk_nodes;
  std::vector<std::uint64_t> first_walk_node;  ///< by tree; for walked ones only
  /// The inputs that trees read, ascending.
  std::vector<std::uint32_t> used_inputs;

  const TreeStep* steps_of(const StepTree& tree) const { return steps.data() + tree.first_step; }
  const double* leaves_of(const StepTree& tree) const { return leaves.data() + tree.first_leaf; }
};

/// Bytes per plane of a tree with `leaves` leaves, at most 256.
constexpr std::uint32_t plane_bytes(std::uint32_t leaves) { return leaves <= 64 ? 64 : leaves <= 128 ? 128 : 256; }

/// Compiles trees that pass check_model(); `with_planes`: also stores leaves as bytes.
TreeProgram make_tree_program(const TreeEnsemble& trees, bool with_planes);

}  // namespace quern
