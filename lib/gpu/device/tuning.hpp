#pragma once
#include "quern/core/types.hpp"

/// Constants that affect speed, and their trade-offs.
namespace quern::gpu {

/// Limits of options: queries per batch, and GPU numbers.
inline constexpr std::size_t max_batch_queries = 65535;
inline constexpr unsigned max_gpus = 1023;
/// DocIDs per range, whose sums (2 bytes each) are in shared memory. Unions rely on this number: see
/// SumPlace::word_at().
inline constexpr std::uint32_t range_documents = 16384;
/// Threads per thread block of unions, and for small batches, where each thread block has its own multiprocessor.
inline constexpr unsigned union_threads = 256, union_threads_of_few = 1024;
/// Maximum documents of a range that are noted when they reach the threshold. With more, all sums are read.
inline constexpr std::uint32_t range_candidates = 256;
/// Up to this many documents of a range become candidates as soon as they are counted. With more, all threads wait for
/// the raised threshold, which rules some out.
inline constexpr std::uint32_t uncounted_candidates = 16;
/// Spare candidates of a batch, and per query, for queries with more candidates than their own array holds.
inline constexpr std::size_t spare_candidates = 16384, spare_candidates_per_query = 64;
/// Candidates of a batch for which memory is reserved, if they fit, 8 bytes each, unless its queries need more.
inline constexpr std::size_t candidates_per_batch = std::size_t{1} << 26;
/// Entries of a batch's lists up to which a GPU's cache is taken to hold them. Searches then do with fewer steps, each
/// of more reads.
inline constexpr std::uint64_t cached_entries = std::uint64_t{1} << 24;
/// The cost of looking up a document in a list, relative to adding an entry.
inline constexpr std::uint32_t lookup_cost = 2;
/// The fixed cost of answering a query by sums in a range, relative to adding an entry.
inline constexpr std::uint32_t adding_cost = 1024;
/// Tiles of 32 documents that a warp looks up per task.
inline constexpr std::uint32_t tiles_per_lookup_task = 4;
/// Minimum thread blocks of unions per multiprocessor, which limits shared memory and registers.
inline constexpr unsigned union_blocks = 6;
/// Minimum thread blocks of intersections from entries per multiprocessor. A lane has four documents, whose reads are
/// in flight together; more thread blocks would leave registers for fewer documents.
inline constexpr unsigned intersection_blocks = 4;
/// Threads per thread block that writes a query's results.
inline constexpr unsigned finish_threads = 512;
/// Lookups up to which a batch of intersections does not decode whole lists: a fixed number, and more per query.
/// Decoding takes time per list, and answering from entries per query.
inline constexpr std::uint64_t lookups_per_batch = std::uint64_t{1} << 21, lookups_per_query = 1024;
/// These limits if there is room for all decoded lists, so that each is decoded only once.
inline constexpr std::uint64_t kept_lookups_per_batch = std::uint64_t{1} << 14, kept_lookups_per_query = 512;
/// Maximum queries of a direct batch, which has as few steps as possible: its zeroed counters are copied with the
/// batch, and kernels write results to host memory. For larger batches, clearing and copying on the GPU is faster.
inline constexpr std::size_t max_direct_queries = 16;
/// Maximum queries of a batch whose candidates all warps score together, instead of a thread block per query.
inline constexpr std::size_t max_spread_queries = 256;
/// In direct batches with at most this many results per query, the last kernel scores candidates: another launch would
/// take longer.
inline constexpr std::uint32_t max_results_of_few = 64;
/// Minimum and maximum documents of a query's shortest list per item of an intersection from entries, and the preferred
/// items per batch. With smaller items, warps end closer together; larger ones have less fixed cost.
inline constexpr std::uint32_t min_item_documents = 32, max_item_documents = 256;
inline constexpr std::uint64_t items_per_intersection = 16384;
/// Batches per GPU, if there are several. With more, GPUs finish closer together; with fewer, lists are decoded less.
inline constexpr std::size_t batches_per_gpu = 2;
/// While several searches are under way, at most this many queries are not divided among GPUs, which then answer
/// batches of different searches.
inline constexpr std::size_t min_divided_queries = 256;
/// Queries in a search's first step where an additional batch costs little. Meanwhile, the others' lists are found.
inline constexpr std::size_t first_step_queries = 2048;
/// Maximum queries per batch in such a search: larger batches are not faster, and overlap less.
inline constexpr std::size_t overlapping_batch_queries = 8192;
/// The fixed cost of a query, in postings: one per this many documents of the index.
inline constexpr std::size_t documents_per_posting = 16;
/// Preferred minimum of items per batch: several per thread block of a large GPU.
inline constexpr std::size_t many_blocks = 4096;
/// Threads per moving thread block, words that each moves at a time, and thread blocks for words in host memory: fewer
/// would not keep the link busy, more would displace other kernels.
inline constexpr unsigned moving_threads = 256, words_per_mover = 16, blocks_of_movers = 12;
/// Lists are pinned once this many times their bytes have been staged: pinning takes as long as that loses.
inline constexpr std::uint64_t copies_before_pinning = 2;
/// A list is read in the mapped index file if a batch reads at most one block in this many, since it takes longer each.
inline constexpr std::uint64_t blocks_per_block_in_place = 8;
/// Threads per thread block of other kernels.
inline constexpr unsigned plain_threads = 256;
/// Threads per thread block of the method of Wu et al., as in the paper.
inline constexpr unsigned batched_threads = 128;
/// Documents that a thread block takes at a time in Parallel Merge Find; a multiple of plain_threads.
inline constexpr std::uint32_t merge_find_tile = 1024;

}  // namespace quern::gpu
