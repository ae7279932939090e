#pragma once
#include "quern/gpu/worker/query_batch.hpp"

/// Division of a batch by the strategy `ding`. Host code.
namespace quern::gpu {

/// Children of a node in the tree of maxima.
inline constexpr std::uint32_t tree_degree = 512;

/// A query's leaves, and the nodes above them: see ding_view.cuh.
struct DingQuery {
  std::uint64_t first_leaf = 0;  ///< in DingTile::leaves; a multiple of tree_degree
  std::uint64_t first_node = 0;  ///< in DingTile::nodes, the maxima of leaves
  std::uint32_t leaves = 0;      ///< at least one
  std::uint32_t first_top = 0;   ///< in DingTile::tops, the maxima of nodes

  constexpr std::uint32_t nodes() const { return (leaves - 1) / tree_degree + 1; }
  constexpr std::uint32_t tops() const { return (nodes() - 1) / tree_degree + 1; }
};

/// The number of leaves rounded up to a multiple of tree_degree.
constexpr std::uint64_t padded_leaves(std::uint64_t leaves) {
  return (leaves + tree_degree - 1) / tree_degree * tree_degree;
}

/// A batch divided into passes over queries whose leaves fit the memory together.
struct PassPlan {
  struct Pass {
    std::uint32_t first_query = 0, num_queries = 0;
    std::uint64_t leaves = 0;
  };
  std::vector<DingQuery> queries;
  std::vector<Pass> passes;
  std::uint64_t leaves = 0, nodes = 0, tops = 0;  ///< of the largest pass
};

/// The number of the first posting that has a leaf. Earlier ones are not in the window.
constexpr std::uint32_t first_leaf_of(const ListView& list, std::uint32_t block_size) {
  return list.raw != 0 ? 0 : list.begin_block * block_size;
}

/// Plans passes of at most `max_leaves` leaves each, or of a single query. `lists`: the batch's views in a window of
/// `documents` documents, or in all.
PassPlan plan_passes(const QueryBatch& batch, std::span<const ListView> lists, bool intersect, std::uint32_t documents,
                     std::uint64_t max_leaves);

}  // namespace quern::gpu
