#pragma once
#include <cstddef>
#include <cstdint>

/// Constants that affect how fast models score on a GPU, and the trade-off of each.
namespace quern::gpu {

/// Documents that a warp takes, one per lane. They are a *tile*.
inline constexpr std::size_t tile_documents = 32;

/// Nodes and leaves of a group of trees, which a thread block has in shared memory; at least a tree of 2,048 leaves.
/// With larger groups, ranks are loaded less often; with smaller ones, more thread blocks run on a multiprocessor.
inline constexpr std::size_t group_bytes = std::size_t{32} << 10;
/// Ranks of tiles in shared memory, beside a group; those of models with more columns are read from global memory.
inline constexpr std::size_t shared_rank_bytes = std::size_t{16} << 10;
/// Tiles whose ranks a thread block has at once.
inline constexpr std::size_t max_tiles_at_once = 4;
/// Threads of a thread block that walks trees, and the walks of each at the same time: their loads don't wait for each
/// other.
inline constexpr unsigned tree_threads = 512, walks_per_thread = 4;
/// Such thread blocks on a multiprocessor, which registers must be enough for.
inline constexpr unsigned tree_blocks = 3;
/// Threads of thread blocks that make inputs, walk large trees, and sum leaves; trees whose leaves are summed at a
/// time.
inline constexpr unsigned input_threads = 256, large_tree_threads = 256, sum_threads = 256, trees_per_sum = 64;
/// Threads of a thread block that sums terms: documents of linear models.
inline constexpr unsigned term_threads = 64;
/// A thread block of a wide layer has the outputs of a tile by fours, and this many of its inputs in shared memory.
inline constexpr unsigned layer_threads = 128, wide_outputs = 64, wide_inputs = 32;
/// A thread block of a narrow one has an output for each warp.
inline constexpr unsigned narrow_outputs = layer_threads / tile_documents, narrow_inputs = 128;
/// Layers with fewer outputs are narrow: most of a wide thread block would be idle.
inline constexpr std::uint32_t least_wide_outputs = 32;
/// Layers with fewer outputs are exact with fast_math, too.
inline constexpr std::uint32_t least_fast_outputs = 16;
/// Thread blocks per multiprocessor of kernels that take tiles in turn.
inline constexpr std::uint32_t blocks_per_multiprocessor = 8;

/// Inputs and leaves of the documents that are scored at a time.
inline constexpr std::uint64_t scoring_bytes = std::uint64_t{64} << 20;
/// Features that a thread gathers in pinned memory and copies. Fewer are gathered by one thread, since waking others
/// would take longer.
inline constexpr std::size_t staged_item_bytes = std::size_t{256} << 10;
/// Shorter rows are gathered even if they are pinned: the GPU would take as long for each as for a longer one.
inline constexpr std::size_t least_direct_row_bytes = 2048;
/// Scores of so few documents are written to the host's memory by kernels: a copy would take longer.
inline constexpr std::size_t max_direct_documents = 512;

/// What a batch costs, in nanoseconds, by which the second stage chooses the processor (tests/bench/reranking.md): a
/// call of the GPU, and there each feature that is copied and each tree's walk of a document; on one core the inputs,
/// trees of 64 leaves and weights of a document. A core takes the time of `least_core_documents` for fewer, too.
inline constexpr double gpu_call_ns = 30000, gpu_feature_ns = 0.3, gpu_tree_ns = 0.03, gpu_weight_ns = 0.002,
                        core_input_ns = 3.2, core_tree_ns = 2.7, core_weight_ns = 0.032;
inline constexpr std::size_t least_core_documents = 16;

}  // namespace quern::gpu
