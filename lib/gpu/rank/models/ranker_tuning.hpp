#pragma once
#include "quern/core/types.hpp"

/// Constants that affect the speed of models on a GPU, and their trade-offs.
namespace quern::gpu {

/// Documents of a tile: one per lane of a warp.
inline constexpr std::size_t tile_documents = 32;

/// Bytes of a group of trees, which a thread block keeps in shared memory; at least a tree of 2,048 leaves. With larger
/// groups, ranks are loaded less often; with smaller ones, more thread blocks fit a multiprocessor.
inline constexpr std::size_t group_bytes = std::size_t{32} << 10;
/// Bytes of ranks in shared memory, beside a group; ranks of models with more columns are read from global memory.
inline constexpr std::size_t shared_rank_bytes = std::size_t{16} << 10;
/// Maximum tiles that a thread block takes at a time.
inline constexpr std::size_t max_tiles_at_once = 4;
/// Threads of a thread block that walks trees, and concurrent walks per thread, whose loads are independent.
inline constexpr unsigned tree_threads = 512, walks_per_thread = 4;
/// Minimum of these thread blocks per multiprocessor, which limits registers.
inline constexpr unsigned tree_blocks = 3;
/// Threads of thread blocks that make inputs, walk large trees, and sum leaves; trees per step of summing.
inline constexpr unsigned input_threads = 256, large_tree_threads = 256, sum_threads = 256, trees_per_sum = 64;
/// Threads of a thread block that sums terms of linear models, a document each.
inline constexpr unsigned term_threads = 64;
/// A thread block of a wide layer computes wide_outputs outputs of a tile, from wide_inputs inputs at a time.
inline constexpr unsigned layer_threads = 128, wide_outputs = 64, wide_inputs = 32;
/// A thread block of a narrow layer computes an output per warp.
inline constexpr unsigned narrow_outputs = layer_threads / tile_documents, narrow_inputs = 128;
/// Layers with fewer outputs are narrow, since most of a wide thread block would idle.
inline constexpr std::uint32_t least_wide_outputs = 32;
/// Layers with fewer outputs are exact even with fast_math.
inline constexpr std::uint32_t least_fast_outputs = 16;
/// Thread blocks per multiprocessor of kernels whose thread blocks loop over tiles.
inline constexpr std::uint32_t blocks_per_multiprocessor = 8;

/// Maximum working memory for documents scored at a time.
inline constexpr std::uint64_t scoring_bytes = std::uint64_t{64} << 20;
/// Bytes of features that a thread gathers and copies; one thread alone gathers fewer, to wake no other.
inline constexpr std::size_t staged_item_bytes = std::size_t{256} << 10;
/// Shorter rows are gathered even if they are pinned, since copying a row has a minimum time.
inline constexpr std::size_t least_direct_row_bytes = 2048;
/// Kernels write the scores of up to this many documents to host memory directly, since a copy would take longer.
inline constexpr std::size_t max_direct_documents = 512;

/// The costs in nanoseconds by which the second stage chooses the processor (tests/bench/reranking.md): of a GPU call,
/// and there per copied feature, tree walk and weight of a document; on one core, per input, tree of 64 leaves and
/// weight of a document. A core takes no less time than for `least_core_documents` documents.
inline constexpr double gpu_call_ns = 30000, gpu_feature_ns = 0.3, gpu_tree_ns = 0.03, gpu_weight_ns = 0.002,
                        core_input_ns = 3.2, core_tree_ns = 2.7, core_weight_ns = 0.032;
inline constexpr std::size_t least_core_documents = 16;

}  // namespace quern::gpu
