#pragma once
#include <cstdint>
#include <vector>

#include "quern/gpu/rank/models/ranker_view.hpp"
#include "quern/rank/models/tree_program.hpp"

namespace quern::gpu {

/// Trees in groups that fit shared memory.
struct TreeGroups {
  std::vector<TreeGroup> groups;
  std::vector<std::uint32_t> words;
};

/// Puts the trees of a program in groups, but for those that it walks. It has node_column_limit columns at most.
/// `to_float`: leaves become float32.
TreeGroups make_tree_groups(const TreeProgram& program, bool to_float);

}  // namespace quern::gpu
