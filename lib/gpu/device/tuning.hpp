#pragma once
#include <cstddef>
#include <cstdint>

/// The constants that speed depends on, and what each trades.
namespace quern::gpu {

/// docIDs of a range, whose sums of units (2 bytes each) lie in shared memory. Larger ranges are fewer, smaller
/// ones let more thread blocks run on a multiprocessor. At most 65,536.
inline constexpr std::uint32_t range_documents = 16384;
/// Threads that work on a range together.
inline constexpr unsigned union_threads = 256;
/// Documents of a range that passed the threshold; more are found by looking through all sums.
inline constexpr std::uint32_t range_candidates = 256;
/// Entries that are added up in the time that one document is looked up in a list.
inline constexpr std::uint32_t lookup_cost = 2;
/// Entries that are added up in the time that a thread block takes for any query, however few it adds.
inline constexpr std::uint32_t adding_cost = 1024;
/// Times 32 documents that a warp looks up before it looks for other work.
inline constexpr std::uint32_t lookup_turn = 4;
/// Thread blocks of unions on a multiprocessor: room in shared memory and registers must suffice.
inline constexpr unsigned union_blocks = 6;
/// Threads that choose a query's results.
inline constexpr unsigned finish_threads = 256;
/// Queries of an intersection for which whole lists aren't decoded.
inline constexpr std::size_t max_skipping_queries = 16;
/// Queries of a batch that is answered with as few steps as there can be: counters come with the batch as zeros, and
/// results go straight to the host's memory. More of them are better cleared and copied by the GPU.
inline constexpr std::size_t max_direct_queries = 16;
/// Queries of a batch whose candidates are scored by all warps together, not by a thread block for each query.
inline constexpr std::size_t max_spread_queries = 128;
/// Batches that each of several GPUs gets, about: more of them end together, fewer decode lists less often.
inline constexpr std::size_t batches_per_gpu = 2;
/// What a query costs besides its lists, in postings, for each so many documents of the index.
inline constexpr std::size_t documents_per_posting = 16;
/// Turns that a batch is cut into, at least, where it can be: several for each thread block, or warp, of a large GPU.
inline constexpr std::size_t many_blocks = 4096, many_warps = 32768;
/// Threads of a block of other kernels.
inline constexpr unsigned plain_threads = 256;
/// Threads that intersect a query's lists by Wu's method: the paper's number.
inline constexpr unsigned batched_threads = 128;
/// Documents of a shortest list that a thread block takes through Parallel Merge Find; a multiple of plain_threads.
inline constexpr std::uint32_t merge_find_tile = 1024;

}  // namespace quern::gpu
