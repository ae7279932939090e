#pragma once
#include "quern/gpu/papers/ding/ding_plan.hpp"
#include "quern/gpu/worker/batch_view.cuh"

/// Queries that are answered together: a tile, or the tiles of a pass. Each query has *leaves*, scores as the bits of a
/// float, negative without a document. A union has a leaf per document of the window or of the index, its accumulator;
/// an intersection has a leaf per posting of its shortest list, or of its blocks in the window. Above them are two
/// levels of a tree of maxima (Ding et al.: Using Graphics Processors for High Performance IR Query Processing, WWW
/// 2009, section 8.2).
namespace quern::gpu {

/// Maximum queries per tile: one per lane.
inline constexpr std::uint32_t max_tile_queries = lanes_per_warp;
/// A leaf without a document, below any score. All of its bytes are equal.
inline constexpr std::int32_t no_score = -1;

struct DingTile {
  const DingQuery* queries = nullptr;
  std::uint32_t first_query = 0, num_queries = 0;  ///< in the batch
  std::int32_t* leaves = nullptr;
  std::uint32_t* docids = nullptr;  ///< the leaves' documents; null: a query's leaf i is the window's document i
  std::int32_t *nodes = nullptr, *tops = nullptr;
};

/// Divides the tasks of a tile's queries evenly among all warps, and calls visit(query, task) for this warp's
/// consecutive tasks. `own`: the number of tasks of the query with this lane's number, fewer than 2^32 in total.
template <class Visit>
__device__ inline void for_own_tasks(std::uint32_t own, Visit&& visit) {
  const std::uint32_t end = inclusive_sum(own), all = last_lane(end);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes_per_warp);
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_per_warp;
  const auto last = static_cast<std::uint32_t>(all * (warp + 1) / warps);
  for (auto task = static_cast<std::uint32_t>(all * warp / warps); task < last;) {
    const unsigned query = __popc(__ballot_sync(all_lanes, end <= task));
    const std::uint32_t query_end = __shfl_sync(all_lanes, end, query);
    const std::uint32_t query_begin = query_end - __shfl_sync(all_lanes, own, query);
    for (; task < min(query_end, last); ++task) visit(query, task - query_begin);
  }
}

// The k best documents by a tree of maxima of high degree, from which the maximum leaf is taken repeatedly (Ding et
// al., section 8.2). Of equal leaves, the leftmost is taken first, which has the lowest docID.

/// The children of a node, at most tree_degree numbers, in the registers of a warp.
class Siblings {
 public:
  /// Reads the first `count` children, at least one; the others become no_score.
  __device__ Siblings(const std::int32_t* numbers, std::uint32_t count) {
#pragma unroll
    for (unsigned i = 0; i < per_lane; ++i) {
      const std::uint32_t place = i * lanes_per_warp + lane_id();
      numbers_[i] = place < count ? numbers[place] : no_score;
    }
  }
  __device__ std::int32_t maximum() const {
    std::int32_t own = numbers_[0];
#pragma unroll
    for (unsigned i = 1; i < per_lane; ++i) own = max(own, numbers_[i]);
    return __reduce_max_sync(all_lanes, own);
  }
  /// The index of the first child that equals `number`; there must be one.
  __device__ std::uint32_t place_of(std::int32_t number) const {
    std::uint32_t place = tree_degree;
#pragma unroll
    for (unsigned i = per_lane; i-- > 0;)
      if (numbers_[i] == number) place = i * lanes_per_warp + lane_id();
    return __reduce_min_sync(all_lanes, place);
  }
  __device__ void set(std::uint32_t place, std::int32_t number) {
#pragma unroll
    for (unsigned i = 0; i < per_lane; ++i)
      if (i * lanes_per_warp + lane_id() == place) numbers_[i] = number;
  }

 private:
  static constexpr unsigned per_lane = tree_degree / lanes_per_warp;
  std::int32_t numbers_[per_lane];
};

/// Computes the maxima of a tile's leaves. Static, like take_results(), since tests include these kernels.
static __global__ void __launch_bounds__(plain_threads) make_nodes(const __grid_constant__ DingTile tile) {
  for_own_tasks(
      lane_id() < tile.num_queries ? tile.queries[lane_id()].nodes() : 0, [&](std::uint32_t i, std::uint32_t node) {
        const DingQuery& query = tile.queries[i];
        // All leaves of a node exist: leaves are padded to a multiple of tree_degree.
        const Siblings leaves(tile.leaves + query.first_leaf + std::uint64_t{node} * tree_degree, tree_degree);
        const std::int32_t maximum = leaves.maximum();
        if (lane_id() == 0) tile.nodes[query.first_node + node] = maximum;
      });
}

/// Takes results of one query from its tree, by a warp.
class TreeTop {
 public:
  __device__ TreeTop(const DingTile& tile, const DingQuery& query)
      : query_(query),
        leaves_(tile.leaves + query.first_leaf),
        nodes_(tile.nodes + query.first_node),
        tops_(tile.tops + query.first_top),
        docids_(tile.docids == nullptr ? nullptr : tile.docids + query.first_leaf) {}

  /// Takes the best remaining document; false if there is none. `first_docid`: a union's first leaf.
  __device__ bool take(std::uint32_t first_docid, RankKey& key) {
    std::int32_t maximum = no_score;
    std::uint32_t first_top = 0;
    for (std::uint32_t first = 0; first < query_.tops(); first += tree_degree) {
      const std::int32_t here = Siblings(tops_ + first, query_.tops() - first).maximum();
      if (here > maximum) maximum = here, first_top = first;
    }
    if (maximum < 0) return false;
    const std::uint32_t top = first_top + Siblings(tops_ + first_top, query_.tops() - first_top).place_of(maximum);
    Siblings nodes(nodes_ + std::uint64_t{top} * tree_degree, query_.nodes() - top * tree_degree);
    const std::uint32_t node_place = nodes.place_of(maximum), node = top * tree_degree + node_place;
    Siblings leaves(leaves_ + std::uint64_t{node} * tree_degree, tree_degree);
    const std::uint32_t leaf_place = leaves.place_of(maximum), leaf = node * tree_degree + leaf_place;
    key = rank_key(__int_as_float(maximum), docids_ == nullptr ? first_docid + leaf : docids_[leaf]);
    leaves.set(leaf_place, no_score);
    const std::int32_t new_node = leaves.maximum();
    nodes.set(node_place, new_node);
    const std::int32_t new_top = nodes.maximum();
    if (lane_id() == 0) {
      leaves_[leaf] = no_score;
      nodes_[node] = new_node;
      tops_[top] = new_top;
    }
    __syncwarp();
    return true;
  }

 private:
  const DingQuery& query_;
  std::int32_t *leaves_, *nodes_, *tops_;
  const std::uint32_t* docids_;
};

/// Writes the results of a pass's queries, a thread block per query.
static __global__ void __launch_bounds__(plain_threads)
    take_results(const __grid_constant__ BatchView batch, const __grid_constant__ DingTile tile) {
  const DingQuery& query = tile.queries[blockIdx.x];
  const std::uint64_t number = tile.first_query + blockIdx.x;
  for (std::uint32_t top = threadIdx.x / lanes_per_warp; top < query.tops(); top += plain_threads / lanes_per_warp) {
    const std::uint32_t first = top * tree_degree;
    const std::int32_t maximum = Siblings(tile.nodes + query.first_node + first, query.nodes() - first).maximum();
    if (lane_id() == 0) tile.tops[query.first_top + top] = maximum;
  }
  __syncthreads();
  if (threadIdx.x >= lanes_per_warp) return;
  TreeTop tree(tile, query);
  std::uint32_t taken = 0;
  for (RankKey key = 0; taken < batch.k && tree.take(batch.first_docid, key); ++taken)
    if (lane_id() == 0) batch.results[number * batch.k + taken] = key;
  if (lane_id() == 0) batch.num_results[number] = taken;
}

}  // namespace quern::gpu
