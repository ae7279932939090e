#include "quern/rank/models/tree_evaluator.hpp"

namespace quern {
namespace {

/// Maximum bytes of a run's steps and leaves, and of a chunk's ranks: together they leave room in an L2 cache of 1 MB.
constexpr std::size_t run_bytes = std::size_t{256} << 10, chunk_bytes = std::size_t{256} << 10;
constexpr std::size_t max_blocks_per_chunk = 16;

/// With fewer documents in a block, walking from root to leaf is faster than taking all steps.
constexpr std::size_t min_step_documents = 6;

/// Sums of a block's documents.
struct alignas(64) BlockSums {
  std::array<double, documents_per_block> values;
};

/// `documents` documents of `features`, from `first` on.
FeatureColumns part_of(const FeatureColumns& features, std::size_t first, std::size_t documents) {
  return {features.values + first, documents, features.stride};
}

std::size_t round_up(std::size_t documents, std::size_t unit) { return (documents + unit - 1) / unit * unit; }

/// Bytes of a tree in the cache.
std::size_t bytes_of(const StepTree& tree) { return sizeof(StepTree) + 16 * std::size_t{tree.leaves}; }

/// Trees at a time: their loads don't wait for each other.
constexpr std::size_t walks_together = 8;

/// A document's path through one tree.
struct Walk {
  const TreeStep* steps = nullptr;
  std::uint32_t at = 0;
  std::uint8_t low = 0, high = 0;  ///< the leaf's number

  /// Returns whether the document went right.
  bool go(const std::int8_t* ranks) {
    const TreeStep& step = steps[at];
    const bool right = ranks[std::size_t{step.column} * documents_per_block] > step.threshold;
    // Branchless, since the direction is unpredictable.
    low = static_cast<std::uint8_t>(low + (step.delta & -static_cast<int>(right)));
    at = step.children[right ? 1 : 0];
    return right;
  }
};

/// Walks a tree with two-byte leaf numbers.
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
  bool going = false;  // a program whose trees are all single leaves has no ranks
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const StepTree& tree = program.trees[first + i];
    // Trees with two-byte leaf numbers are walked separately below.
    walks[i] = {program.steps_of(tree), tree.wide != 0 ? tree.steps : 0u};
    going |= walks[i].at < tree.steps;
  }
  // Walks that have reached their leaf stay there.
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

/// Some documents, with the trees' inputs and their ranks.
class TreeEvaluator::Chunk {
 public:
  Chunk(const TreeEvaluator& owner, const FeatureColumns& features)
      : documents_(features.documents), columns_(owner.program_.columns.size()) {
    find_inputs(owner, features);
    ranks_.resize(blocks() * columns_ * documents_per_block);
    for (std::size_t column = 0; column < columns_; ++column) {
      const RankColumn& search = owner.program_.columns[column];
      for (std::size_t block = 0; block < blocks(); ++block)
        owner.kernels_.rank(search, owner.program_.tables.data() + search.table,
                            inputs_[search.input] + block * documents_per_block,
                            static_cast<unsigned>(documents_of(block)), ranks_.data() + place(block, column));
    }
  }

  std::size_t blocks() const { return (documents_ + documents_per_block - 1) / documents_per_block; }
  std::size_t documents_of(std::size_t block) const {
    return std::min<std::size_t>(documents_per_block, documents_ - block * documents_per_block);
  }
  const std::int8_t* ranks_of(std::size_t block) const { return ranks_.data() + place(block, 0); }
  /// The documents' values by input; null for inputs that no tree reads.
  std::span<const float* const> inputs() const { return inputs_; }

 private:
  std::size_t place(std::size_t block, std::size_t column) const {
    return (block * columns_ + column) * documents_per_block;
  }

  /// Uses features directly as inputs where possible, and computes the other inputs.
  void find_inputs(const TreeEvaluator& owner, const FeatureColumns& features) {
    const std::vector<std::uint32_t>& used = owner.program_.used_inputs;
    const std::size_t stride = round_up(documents_, FeatureColumns::documents_per_group);
    const auto computed = static_cast<std::size_t>(std::count_if(used.begin(), used.end(), [&](std::uint32_t input) {
      return owner.inputs_[input].kind != TreeInputKind::value;
    }));
    computed_.resize(computed * stride);
    inputs_.resize(owner.inputs_.size());
    float* next = computed_.data();
    for (const std::uint32_t input : used) {
      const TreeInput& how = owner.inputs_[input];
      const float* const values = features.column(how.feature);
      inputs_[input] = how.kind == TreeInputKind::value ? values : next;
      if (how.kind == TreeInputKind::value) continue;
      for (std::size_t d = 0; d < documents_; ++d) next[d] = input_value(how, values[d]);
      next += stride;
    }
  }

  std::size_t documents_, columns_;
  std::vector<float> computed_;
  std::vector<const float*> inputs_;
  std::vector<std::int8_t> ranks_;
};

TreeEvaluator::TreeEvaluator(const TreeEnsemble& trees, SimdLevel level)
    : kernels_(ranker_kernels_of(level)),
      program_(make_tree_program(trees, kernels_.uses_planes)),
      inputs_(trees.inputs),
      base_(trees.base),
      to_float32_(trees.sum == TreeSum::float32),
      groups_(trees.group_ends.size()) {
  std::uint64_t first = 0;
  for (const std::uint64_t end : trees.group_ends) {
    add_runs(first, end, true);
    first = end;
  }
  if (groups_ == 0) add_runs(0, trees.trees(), false);
}

void TreeEvaluator::add_runs(std::uint64_t first, std::uint64_t end, bool ends_group) {
  Run run = {first, first, false, false};
  std::size_t bytes = 0;
  for (std::uint64_t tree = first; tree < end; ++tree) {
    const StepTree& next = program_.trees[tree];
    if (run.end > run.first && (next.walked != run.walked || bytes + bytes_of(next) > run_bytes)) {
      runs_.push_back(run);
      run.first = tree;
      bytes = 0;
    }
    run.walked = next.walked;
    run.end = tree + 1;
    bytes += bytes_of(next);
  }
  run.ends_group = ends_group;
  runs_.push_back(run);
}

std::size_t TreeEvaluator::chunk_documents() const {
  const std::size_t block_bytes = std::max<std::size_t>(1, program_.columns.size()) * documents_per_block;
  return std::clamp<std::size_t>(chunk_bytes / block_bytes, 1, max_blocks_per_chunk) * documents_per_block;
}

void TreeEvaluator::score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const {
  const std::size_t step = chunk_documents();
  for (std::size_t first = 0; first < features.documents; first += step) {
    const std::size_t documents = std::min(step, features.documents - first);
    score_chunk(part_of(features, first, documents), scores.subspan(first, documents), clock);
  }
}

void TreeEvaluator::score_chunk(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const {
  const Chunk chunk(*this, features);
  clock.end(&RankerStages::inputs);
  std::vector<BlockSums> sums(chunk.blocks());
  const auto restart = [&] {
    for (BlockSums& block : sums) block.values.fill(base_);
  };
  const auto sum_of = [&](std::size_t d) { return sums[d / documents_per_block].values[d % documents_per_block]; };
  restart();
  if (groups_ != 0) std::fill(scores.begin(), scores.end(), 0.0);
  for (const Run& run : runs_) {
    for (std::size_t block = 0; block < chunk.blocks(); ++block) add_run(run, chunk, block, sums[block].values.data());
    if (!run.ends_group) continue;
    for (std::size_t d = 0; d < scores.size(); ++d) scores[d] += sum_of(d);
    restart();
  }
  for (std::size_t d = 0; d < scores.size(); ++d)
    scores[d] = settled(groups_ == 0 ? sum_of(d) : scores[d] / static_cast<double>(groups_));
  clock.end(&RankerStages::trees);
}

void TreeEvaluator::add_run(const Run& run, const Chunk& chunk, std::size_t block, double* sums) const {
  const std::size_t documents = chunk.documents_of(block);
  const auto add = [&](std::size_t d, double leaf) {
    const double sum = sums[d] + leaf;
    sums[d] = to_float32_ ? static_cast<double>(static_cast<float>(sum)) : sum;
  };
  if (run.walked) {
    for (std::size_t d = 0; d < documents; ++d)
      for (std::uint64_t tree = run.first; tree < run.end; ++tree)
        add(d, walk_nodes(program_, tree, chunk.inputs(), block * documents_per_block + d));
  } else if (documents < min_step_documents) {
    std::vector<double> leaves(run.end - run.first);
    for (std::size_t d = 0; d < documents; ++d) {
      walk_steps(program_, run.first, chunk.ranks_of(block) + d, leaves);
      for (const double leaf : leaves) add(d, leaf);
    }
  } else {
    kernels_.add_trees(program_, run.first, run.end, chunk.ranks_of(block), static_cast<unsigned>(documents),
                       {sums, to_float32_});
  }
}

void TreeEvaluator::store(const FeatureColumns& block, float* leaves, StageClock& clock) const {
  const Chunk chunk(*this, block);
  clock.end(&RankerStages::inputs);
  for (const Run& run : runs_) {
    if (run.walked) {
      for (std::uint64_t tree = run.first; tree < run.end; ++tree)
        for (std::size_t d = 0; d < block.documents; ++d)
          leaves[tree * documents_per_block + d] = static_cast<float>(walk_nodes(program_, tree, chunk.inputs(), d));
    } else if (block.documents < min_step_documents) {
      std::vector<double> found(run.end - run.first);
      for (std::size_t d = 0; d < block.documents; ++d) {
        walk_steps(program_, run.first, chunk.ranks_of(0) + d, found);
        for (std::size_t i = 0; i < found.size(); ++i)
          leaves[(run.first + i) * documents_per_block + d] = static_cast<float>(found[i]);
      }
    } else {
      kernels_.store_trees(program_, run.first, run.end, chunk.ranks_of(0), static_cast<unsigned>(block.documents),
                           leaves + run.first * documents_per_block);
    }
  }
  clock.end(&RankerStages::trees);
}

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
