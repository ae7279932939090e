#pragma once
#include <cstddef>
#include <cstdint>

/// Constants that affect speed, and the trade-off of each.
namespace quern::gpu {

/// Limits of options: queries of a batch, and numbers of GPUs.
inline constexpr std::size_t max_batch_queries = 65535;
inline constexpr unsigned max_gpus = 1023;
/// DocIDs per range, whose sums of units (2 bytes each) are in shared memory. With larger ranges there are fewer of
/// them; with smaller ones, more thread blocks run on a multiprocessor. At most 65,536.
inline constexpr std::uint32_t range_documents = 16384;
/// Threads per thread block of unions; and where each thread block has a multiprocessor of its own, as in a batch of a
/// few queries of a collection with a few ranges.
inline constexpr unsigned union_threads = 256, union_threads_of_few = 1024;
/// Maximum documents of a range that are noted when they reach the threshold; if there are more, all sums are read.
inline constexpr std::uint32_t range_candidates = 256;
/// Documents of a range that become candidates as soon as they are counted. Of more, those that the threshold then
/// rules out do not, but all threads wait for it.
inline constexpr std::uint32_t uncounted_candidates = 16;
/// Candidates that a batch stores for queries with more than have room in the query's own, besides so many for each of
/// its queries.
inline constexpr std::size_t spare_candidates = 16384, spare_candidates_per_query = 64;
/// The cost of looking up a document in a list, in additions of an entry.
inline constexpr std::uint32_t lookup_cost = 2;
/// The fixed cost of answering a query by sums in a range, in additions of an entry.
inline constexpr std::uint32_t adding_cost = 1024;
/// Tiles of 32 documents that a warp looks up before it takes other work.
inline constexpr std::uint32_t tiles_per_lookup_task = 4;
/// Thread blocks of unions per multiprocessor, which shared memory and registers must be enough for.
inline constexpr unsigned union_blocks = 6;
/// For intersections from entries. A warp has four documents per lane, whose reads are under way at the same
/// time: that takes registers, of which there are enough for more thread blocks with fewer documents.
inline constexpr unsigned intersection_blocks = 4;
/// Threads per thread block of the strategy `wang`: documents of the shortest list in a round. With more, blocks of
/// the other lists are decoded less often; with fewer, queries end earlier.
inline constexpr unsigned wang_threads = 256;
/// Threads per thread block that writes a query's results.
inline constexpr unsigned finish_threads = 256;
/// Documents that a batch of intersections may look up in lists that aren't decoded as a whole, and more for each
/// query: decoding takes time for the lists, and answering from them for each query.
inline constexpr std::uint64_t lookups_per_batch = std::uint64_t{1} << 21, lookups_per_query = 1024;
/// Likewise, where all lists have room to stay decoded: each is decoded once, whatever the batches.
inline constexpr std::uint64_t kept_lookups_per_batch = std::uint64_t{1} << 14, kept_lookups_per_query = 512;
/// Maximum queries of a direct batch, which takes as few steps as possible: its counters are copied to the GPU as zeros
/// with the batch, and kernels write results to host memory. For larger batches it is faster if the GPU clears and
/// copies.
inline constexpr std::size_t max_direct_queries = 16;
/// Maximum queries of a batch whose candidates are scored by all warps together, not by a thread block per query.
inline constexpr std::size_t max_spread_queries = 256;
/// Documents of a query's shortest list that a warp looks up in decoded lists before it takes other work: at least the
/// first, at most the second, and between them as many as make so many items of a batch. With fewer, warps end closer
/// together; with more, less time is lost in the beginning of an item.
inline constexpr std::uint32_t min_item_documents = 32, max_item_documents = 256;
inline constexpr std::uint64_t items_per_intersection = 16384;
/// Approximate batches per GPU, if there are several. With more, GPUs finish closer together; with fewer, lists are
/// decoded less often.
inline constexpr std::size_t batches_per_gpu = 2;
/// Where a batch more costs little, a GPU begins with so many queries of those that are asked together, while the
/// others are found.
inline constexpr std::size_t first_step_queries = 2048;
/// Maximum queries of a batch there: larger ones are not faster, and leave less to be done at the same time.
inline constexpr std::size_t overlapping_batch_queries = 8192;
/// The fixed cost of a query: a posting per this many documents of the index.
inline constexpr std::size_t documents_per_posting = 16;
/// Minimum pieces of work per batch, if it can be cut into as many: several per thread block of a large GPU.
inline constexpr std::size_t many_blocks = 4096;
/// Threads that move words to their places, and how many words each of them moves at a time; thread blocks that do if
/// the words are the host's: fewer do not keep the link busy, more take the place of other kernels.
inline constexpr unsigned moving_threads = 256, words_per_mover = 16, blocks_of_movers = 12;
/// Lists are pinned where they are mapped once so many times their bytes have been staged: pinning 1 GB takes about as
/// long as staging these rather than reading them directly.
inline constexpr std::uint64_t copies_before_pinning = 2;
/// A list is read in place, where the index's file is mapped, if a batch reads at most a block of so many: one by one,
/// blocks take longer.
inline constexpr std::uint64_t blocks_per_block_in_place = 8;
/// Threads per thread block of other kernels.
inline constexpr unsigned plain_threads = 256;
/// Threads per thread block of the method of Wu et al., as in the paper.
inline constexpr unsigned batched_threads = 128;
/// Documents of the shortest list that a thread block takes at a time in Parallel Merge Find; a multiple of
/// plain_threads.
inline constexpr std::uint32_t merge_find_tile = 1024;

}  // namespace quern::gpu
