#include "quern/rank/models/kernels.hpp"

namespace quern {

const RankerKernels& ranker_kernels_of(SimdLevel level) {
#if defined(__AVX2__)
  if (level == SimdLevel::avx512) return avx512_ranker_kernels;
  if (level == SimdLevel::avx2) return avx2_ranker_kernels;
#endif
  static_cast<void>(level);
  return portable_ranker_kernels;
}

namespace {

/// Documents at a time: for each step, a byte of 0xff or 0 per document marks whether it reaches the step.
constexpr unsigned lanes = 32;
using Lanes = std::array<std::uint8_t, lanes>;
using Reached = std::array<Lanes, max_step_leaves + 1>;

void rank_values(const RankColumn& column, const float* table, const float* values, unsigned documents,
                 std::int8_t* ranks) {
  for (unsigned d = 0; d < (documents + lanes - 1) / lanes * lanes; ++d) ranks[d] = rank_of(column, table, values[d]);
}

void take_step(const TreeStep& step, const std::int8_t* ranks, const Lanes& here, Lanes& left, Lanes& right,
               Lanes& low) {
  const std::int8_t* const column = ranks + std::size_t{step.column} * documents_per_block;
  for (unsigned d = 0; d < lanes; ++d) {
    const auto greater = static_cast<std::uint8_t>(-static_cast<int>(column[d] > step.threshold));
    const std::uint8_t reached = here[d];
    right[d] = reached & greater;
    left[d] = static_cast<std::uint8_t>(reached & ~greater);
    low[d] = static_cast<std::uint8_t>(low[d] + (reached & greater & step.delta));
  }
}

/// Leaf numbers of 32 documents.
struct LeafNumbers {
  Lanes low{}, high{};
};

void find_leaves(const TreeProgram& program, const StepTree& tree, const std::int8_t* ranks, Reached& reached,
                 LeafNumbers& leaves) {
  const TreeStep* const steps = program.steps_of(tree);
  leaves = {};
  reached[0].fill(0xff);
  Lanes left, right;
  for (std::size_t at = 0; at < tree.steps; ++at) {
    take_step(steps[at], ranks, reached[at], left, right, leaves.low);
    if (at < tree.wide) {
      const std::uint8_t delta = program.high_deltas[tree.first_high + at];
      for (unsigned d = 0; d < lanes; ++d)
        leaves.high[d] = static_cast<std::uint8_t>(leaves.high[d] + (right[d] & delta));
    }
    if (at >= tree.inner) continue;
    reached[steps[at].children[0]] = left;
    reached[steps[at].children[1]] = right;
  }
}

/// Calls what(tree, document, leaf value).
template <class What>
void for_each_leaf(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                   unsigned documents, What what) {
  Reached reached;
  LeafNumbers found;
  for (std::uint64_t i = first; i < end; ++i) {
    const StepTree& tree = program.trees[i];
    const double* const leaves = program.leaves_of(tree);
    for (unsigned from = 0; from < documents; from += lanes) {
      find_leaves(program, tree, ranks + from, reached, found);
      for (unsigned d = 0; d < lanes; ++d) what(i, from + d, leaves[found.high[d] << 8 | found.low[d]]);
    }
  }
}

void add_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
               unsigned documents, const TreeSums& to) {
  if (to.to_float32) {
    for_each_leaf(program, first, end, ranks, documents, [&](std::uint64_t, unsigned d, double leaf) {
      to.sums[d] = static_cast<double>(static_cast<float>(to.sums[d] + leaf));
    });
  } else {
    for_each_leaf(program, first, end, ranks, documents,
                  [&](std::uint64_t, unsigned d, double leaf) { to.sums[d] += leaf; });
  }
}

void store_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                 unsigned documents, float* leaves) {
  for_each_leaf(program, first, end, ranks, documents, [&](std::uint64_t tree, unsigned d, double leaf) {
    leaves[(tree - first) * documents_per_block + d] = static_cast<float>(leaf);
  });
}

template <unsigned outputs>
void sum_outputs(const DenseBlock& block, std::size_t first, unsigned from) {
  const std::size_t inputs = block.layer->inputs;
  const float* const weights = block.layer->weights.data() + first * inputs;
  std::array<std::array<float, lanes>, outputs> sums;
  for (unsigned j = 0; j < outputs; ++j) sums[j].fill(block.layer->bias[first + j]);
  const float* in = block.in + from;
  for (std::size_t i = 0; i < inputs; ++i, in += documents_per_block)
    for (unsigned j = 0; j < outputs; ++j)
      for (unsigned d = 0; d < lanes; ++d) sums[j][d] += in[d] * weights[j * inputs + i];
  for (unsigned j = 0; j < outputs; ++j)
    std::copy(sums[j].begin(), sums[j].end(), block.out + (first + j) * documents_per_block + from);
}

void sum_layer(const DenseBlock& block, unsigned documents) {
  for (unsigned from = 0; from < documents; from += lanes)
    for (std::size_t j = 0; j < block.layer->outputs; ++j) sum_outputs<1>(block, j, from);
}

}  // namespace

const RankerKernels portable_ranker_kernels = {rank_values, add_trees, store_trees, sum_layer, false};

}  // namespace quern
