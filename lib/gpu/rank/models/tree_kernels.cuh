#pragma once
#include "quern/gpu/rank/models/input_kernels.cuh"

/// Finds the leaves that documents reach.
namespace quern::gpu {

/// Walks the trees of groups. A thread block keeps a group in shared memory, and takes a few tiles at a time: a warp
/// walks a few trees for a tile each, until all documents reach leaves.
template <class Leaf, bool ranks_shared>
struct WalkGroups {
  static constexpr unsigned threads = tree_threads, warps = threads / lanes_per_warp, least_blocks = tree_blocks;

  RankerView ranker;
  ScoringView batch;
  std::uint32_t tiles_at_once = 1;  ///< tiles that a thread block takes at a time

  /// Thread blocks are a multiple of RankerView::num_groups.
  __device__ void operator()(std::uint32_t* shared) const {
    const TreeGroup group = ranker.groups[blockIdx.x % ranker.num_groups];
    const std::size_t step = std::size_t{gridDim.x / ranker.num_groups} * tiles_at_once;
    load_group(group, shared);
    for (std::size_t first = std::size_t{blockIdx.x / ranker.num_groups} * tiles_at_once; first < batch.tiles();
         first += step) {
      const auto tiles = static_cast<std::uint32_t>(min(std::size_t{tiles_at_once}, batch.tiles() - first));
      __syncthreads();  // all threads must have read the previous ranks
      if (ranks_shared) load_ranks(first, tiles, shared + group_bytes / sizeof(std::uint32_t));
      __syncthreads();
      const std::uint32_t walks = group.trees * tiles;
      for (std::uint32_t walk = threadIdx.x / lanes_per_warp; walk < walks; walk += warps * walks_per_thread)
        walk_some(group, shared, {first, tiles}, walk);
    }
  }

 private:
  struct Tiles {
    std::size_t first = 0;
    std::uint32_t count = 0;
  };

  __device__ void load_group(const TreeGroup& group, std::uint32_t* shared) const {
    const auto* from = reinterpret_cast<const uint4*>(ranker.group_words + group.first_word);
    auto* to = reinterpret_cast<uint4*>(shared);
    for (std::uint32_t i = threadIdx.x; i < group.words / 4; i += threads) to[i] = from[i];
  }

  __device__ void load_ranks(std::size_t first, std::uint32_t tiles, std::uint32_t* to) const {
    const std::uint32_t words = ranker.num_words;
    for (std::uint32_t i = threadIdx.x / lanes_per_warp; i < words * tiles; i += warps) {
      const std::uint32_t tile = i / words, word = i % words;
      to[std::size_t{i} * tile_documents + lane_id()] =
          batch.ranks[word * batch.stride + (first + tile) * tile_documents + lane_id()];
    }
  }

  /// The first word of ranks of the lane's document in a tile, as bytes.
  __device__ const std::uint8_t* ranks_of(const std::uint32_t* shared, const Tiles& tiles, std::uint32_t tile) const {
    if (ranks_shared)
      return reinterpret_cast<const std::uint8_t*>(shared + group_bytes / sizeof(std::uint32_t) +
                                                   std::size_t{tile} * ranker.num_words * tile_documents + lane_id());
    return reinterpret_cast<const std::uint8_t*>(batch.ranks + (tiles.first + tile) * tile_documents + lane_id());
  }

  /// Does walk number `walk` and every `warps`-th one after it, walks_per_thread together.
  __device__ void walk_some(const TreeGroup& group, const std::uint32_t* shared, const Tiles& tiles,
                            std::uint32_t walk) const {
    const std::size_t word_step = sizeof(std::uint32_t) * (ranks_shared ? tile_documents : batch.stride);
    const std::uint32_t walks = group.trees * tiles.count;
    const std::uint8_t* ranks[walks_per_thread];
    std::uint32_t at[walks_per_thread], leaf[walks_per_thread];
    bool going[walks_per_thread];
#pragma unroll
    for (unsigned k = 0; k < walks_per_thread; ++k) {
      const std::uint32_t own = walk + k * warps;
      going[k] = false;
      at[k] = leaf[k] = 0;
      ranks[k] = nullptr;
      if (own >= walks) continue;
      ranks[k] = ranks_of(shared, tiles, own % tiles.count);
      at[k] = shared[own / tiles.count * 2 + 1];
      leaf[k] = at[k] >> 16;
      at[k] &= 0xffff;
      going[k] = at[k] != GroupTree::no_node;
    }
    while (true) {
      bool any = false;
#pragma unroll
      for (unsigned k = 0; k < walks_per_thread; ++k) any |= going[k];
      if (!__any_sync(all_lanes, any)) break;
#pragma unroll
      for (unsigned k = 0; k < walks_per_thread; ++k) {
        if (!going[k]) continue;
        const std::uint32_t node = shared[at[k]], column = node >> node_column_shift & (node_column_limit - 1),
                            jump = node >> node_jump_shift & node_jump_mask;
        const bool right = ranks[k][column / columns_per_word * word_step + column % columns_per_word] > (node & 0xff);
        going[k] = (node >> (right ? node_right_leaf : node_left_leaf) & 1) == 0;
        leaf[k] += right ? jump : 0;
        at[k] += right ? jump : 1;
      }
    }
    const auto* leaves = reinterpret_cast<const Leaf*>(shared + group.leaves);
#pragma unroll
    for (unsigned k = 0; k < walks_per_thread; ++k) {
      const std::uint32_t own = walk + k * warps;
      if (own >= walks) continue;
      const std::size_t document = (tiles.first + own % tiles.count) * tile_documents + lane_id();
      leaf_row<Leaf>(ranker, batch, shared[own / tiles.count * 2])[document] = leaves[leaf[k]];
    }
  }
};

/// Walks trees that are too large for shared memory or read too many columns: a warp takes a tree and a tile at a time.
template <class Leaf>
struct WalkLargeTrees {
  static constexpr unsigned threads = large_tree_threads;

  RankerView ranker;
  ScoringView batch;

  std::uint64_t tasks() const { return std::uint64_t{ranker.num_large} * batch.tiles(); }

  __device__ void operator()(std::uint32_t*) const {
    const std::uint64_t tiles = batch.tiles(), end = ranker.num_large * tiles;
    for (std::uint64_t task = own_warp<threads>(); task < end; task += all_warps<threads>()) {
      const LargeTree tree = ranker.large_trees[task / tiles];
      const std::size_t document = task % tiles * tile_documents + lane_id();
      leaf_row<Leaf>(ranker, batch, tree.tree)[document] = static_cast<Leaf>(leaf_of(tree, document));
    }
  }

 private:
  __device__ double leaf_of(const LargeTree& tree, std::size_t document) const {
    const WalkNode* nodes = ranker.large_nodes + tree.first_node;
    const double* leaves = ranker.large_leaves + tree.first_leaf;
    if (tree.nodes == 0) return leaves[0];
    std::int32_t at = 0;
    while (at >= 0) {
      const WalkNode node = nodes[at];
      const TreeInputView input = ranker.inputs[node.input_and_side / 2];
      const float value = value_of(ranker, input, batch.features.column(input.feature)[document]);
      at = goes_left(value, node.threshold, node.input_and_side % 2 == 1) ? node.left : node.right;
    }
    return leaves[-(at + 1)];
  }
};

}  // namespace quern::gpu
