#pragma once
#include "quern/gpu/intersect/intersect_view.cuh"

/// Intersection of unpacked lists: a warp looks up the shortest list's docIDs in the others, or ANDs lists of bits.
namespace quern::gpu {

/// DocIDs that a lane looks up together, which is the number of reads in flight.
inline constexpr unsigned documents_per_lane = 8;

/// Looks up a few documents per lane in all other lists, and writes those that all contain. Returns their number.
__device__ inline std::uint32_t look_up(const IntersectView& batch, const IntersectQuery& query,
                                        const std::uint32_t* from, std::uint32_t count, std::uint32_t* to) {
  std::uint32_t docids[documents_per_lane];
  unsigned alive = 0;
#pragma unroll
  for (unsigned i = 0; i < documents_per_lane; ++i) {
    const unsigned place = i * lanes_per_warp + lane_id();
    docids[i] = place < count ? from[place] : 0;
    if (place < count) alive |= 1u << i;
  }
  for (std::uint32_t t = 1; t < query.terms && __any_sync(all_lanes, alive != 0); ++t) {
    const UnpackedList list(batch, list_of(batch, query, t));
    if (list.format == ListFormat::bits) {
      // Without branches, all reads start at once.
      unsigned in_list = 0;
#pragma unroll
      for (unsigned i = 0; i < documents_per_lane; ++i)
        in_list |= (list.words[docids[i] >> 5] >> (docids[i] & 31) & 1) << i;
      alive &= in_list;
      continue;
    }
#pragma unroll
    for (unsigned i = 0; i < documents_per_lane; ++i)
      if ((alive >> i & 1) && !list.has(docids[i])) alive &= ~(1u << i);
  }
  std::uint32_t found = 0;
#pragma unroll
  for (unsigned i = 0; i < documents_per_lane; ++i) {
    const unsigned lanes = __ballot_sync(all_lanes, alive >> i & 1);
    if (alive >> i & 1) to[found + __popc(lanes & ((1u << lane_id()) - 1))] = docids[i];
    found += __popc(lanes);
  }
  return found;
}

/// Looks up an item's documents, writes those that all lists contain, and returns their number.
__device__ inline std::uint32_t look_up(const IntersectView& batch, const IntersectQuery& query, std::uint32_t place) {
  const UnpackedList shortest(batch, list_of(batch, query, 0));
  const std::uint32_t first = place * query.item_size, end = min(first + query.item_size, shortest.df);
  std::uint32_t* to = results_of_item(batch, query, place);
  std::uint32_t found = 0;
  for (std::uint32_t i = first; i < end; i += documents_per_lane * lanes_per_warp)
    found += look_up(batch, query, shortest.words + i, end - i, to + found);
  return found;
}

/// Writes an item's bitwise AND of all lists, and returns the number of set bits.
__device__ inline std::uint32_t and_bits(const IntersectView& batch, const IntersectQuery& query, std::uint32_t place) {
  const std::uint32_t first = place * query.item_size;
  const std::uint32_t size = min(query.item_size, bit_words(batch.num_documents) - first);
  std::uint32_t* to = results_of_item(batch, query, place);
  std::uint32_t found = 0;
  for (std::uint32_t i = 4 * lane_id(); i < size; i += 4 * lanes_per_warp) {
    uint4 common = make_uint4(~0u, ~0u, ~0u, ~0u);
    for (std::uint32_t t = 0; t < query.terms; ++t) {
      const UnpackedList list(batch, list_of(batch, query, t));
      const uint4 bits = *reinterpret_cast<const uint4*>(list.words + first + i);
      common.x &= bits.x, common.y &= bits.y, common.z &= bits.z, common.w &= bits.w;
    }
    *reinterpret_cast<uint4*>(to + i) = common;
    found += __popc(common.x) + __popc(common.y) + __popc(common.z) + __popc(common.w);
  }
  return warp_sum(found);
}

/// Answers the queries whose lists are all unpacked. By warps.
__device__ inline void probe_items(const IntersectView& batch) {
  for_each_item(
      batch, ItemRange::unpacked(batch), [&](const IntersectQuery& query, std::uint32_t item, std::uint32_t place) {
        const std::uint32_t count = query.bits != 0 ? and_bits(batch, query, place) : look_up(batch, query, place);
        if (lane_id() == 0) batch.counts[item] = count;
      });
}

/// Writes the documents of `from` for which has(docid) is true to `results`, in order, a segment of one document per
/// thread at a time. `results` may be `from`. Returns their number. Called by a whole thread block.
template <unsigned threads, class Has>
__device__ inline std::uint32_t keep_documents(const ThreadBlockScan<threads>& scan, const std::uint32_t* from,
                                               std::uint32_t count, Has&& has, std::uint32_t* results) {
  std::uint32_t found = 0;
  for (std::uint32_t first = 0; first < count; first += threads) {
    const std::uint32_t i = first + threadIdx.x;
    const std::uint32_t docid = i < count ? from[i] : 0;
    const bool is_kept = i < count && has(docid);
    std::uint32_t kept = 0;
    const std::uint32_t place = scan.exclusive_sum(is_kept ? 1 : 0, kept);
    if (is_kept) results[found + place] = docid;
    found += kept;
  }
  __syncthreads();
  return found;
}

/// Wu et al. (A Batched GPU Algorithm for Set Intersection, ISPAN 2009, section III): the shortest list is intersected
/// with one longer list after another, in segments of one document per thread: binary search in the longer list, a
/// prefix sum over matches, and compaction.
__device__ inline void answer_batched(const IntersectView& batch, const ThreadBlockScan<batched_threads>& scan,
                                      std::uint32_t number) {
  const IntersectQuery& query = batch.queries[number];
  std::uint32_t* results = batch.results + query.first_word;
  const UnpackedList shortest(batch, list_of(batch, query, 0));
  const std::uint32_t* from = shortest.words;
  std::uint32_t count = shortest.df;
  if (batch.is_window()) {
    count = keep_documents(
        scan, from, count, [&](std::uint32_t docid) { return batch.has(docid); }, results);
    from = results;
  }
  for (std::uint32_t t = 1; t < query.terms && count > 0; ++t, from = results) {
    const UnpackedList list(batch, list_of(batch, query, t));
    count = keep_documents(
        scan, from, count, [&](std::uint32_t docid) { return list.has(docid); }, results);
  }
  if (query.terms == 1)
    for (std::uint32_t i = threadIdx.x; i < count && from != results; i += blockDim.x) results[i] = from[i];
  if (threadIdx.x == 0) batch.counts[query.first_item] = count;
}

/// An intersection of the serial model of Wu et al. (as above, section IV): the documents of the shortest list that
/// earlier steps kept with one longer list, by as many threads as there are, each with launches of its own for search,
/// scan and compaction.
struct SerialStep {
  std::uint32_t query = 0;
  std::uint32_t term = 0;               ///< of the longer list; 0: keeps the window's documents
  std::uint32_t size = 0;               ///< documents in `from` at most
  const std::uint32_t* from = nullptr;  ///< null: the shortest list
  std::uint32_t* to = nullptr;
  std::uint32_t* count = nullptr;  ///< of documents in `from`, unless that is null; then of those in `to`
  // Working memory:
  std::uint32_t* kept = nullptr;  ///< 0 or 1 for each document in `from`
  std::uint32_t* offsets = nullptr;
  std::uint32_t* tile_sums = nullptr;
};

__device__ inline std::uint32_t document_of(const IntersectView& batch, const SerialStep& step, std::uint32_t i) {
  return step.from ? step.from[i] : UnpackedList(batch, list_of(batch, batch.queries[step.query], 0)).words[i];
}

__device__ inline void search_serially(const IntersectView& batch, const SerialStep& step) {
  const std::uint32_t i = blockIdx.x * batched_threads + threadIdx.x;
  if (i >= step.size) return;
  bool is_kept = step.from == nullptr || i < *step.count;
  if (is_kept) {
    const std::uint32_t docid = document_of(batch, step, i);
    is_kept = step.term == 0 ? batch.has(docid)
                             : UnpackedList(batch, list_of(batch, batch.queries[step.query], step.term)).has(docid);
  }
  step.kept[i] = is_kept ? 1 : 0;
}

/// After a scan that writes where the documents of each tile of `tile` documents begin, and each one's place from
/// there.
__device__ inline void compact_serially(const IntersectView& batch, const SerialStep& step, std::uint32_t tile) {
  const std::uint32_t i = blockIdx.x * batched_threads + threadIdx.x;
  if (i < step.size && step.kept[i] != 0)
    step.to[step.tile_sums[i / tile] + step.offsets[i]] = document_of(batch, step, i);
}

/// The words of working memory for for_each_serial_step(), with `tiles` sums.
inline std::size_t serial_words(const IntersectArrays& batch, std::uint32_t (*tiles)(std::uint32_t)) {
  std::uint32_t longest = 0;
  for (const IntersectQuery& query : batch.queries)
    longest = std::max(longest, batch.lists[batch.terms[query.first_term]].coded.df);
  return std::size_t{3} * longest + std::max(1u, tiles(longest));
}

/// Calls take(step) for the steps of all queries in turn. `view` is the batch on the device. Each query has one item.
template <class Take>
void for_each_serial_step(const IntersectArrays& batch, const IntersectView& view, std::uint32_t* memory, Take&& take) {
  for (std::uint32_t number = 0; number < batch.queries.size(); ++number) {
    const IntersectQuery& query = batch.queries[number];
    SerialStep step;
    step.query = number;
    step.size = batch.lists[batch.terms[query.first_term]].coded.df;
    step.count = view.counts + query.first_item;
    step.kept = memory;
    step.offsets = memory + step.size;
    step.tile_sums = memory + 3 * std::size_t{step.size};
    std::uint32_t* const results = view.results + query.first_word;
    std::uint32_t* const others = memory + 2 * std::size_t{step.size};
    for (step.term = view.is_window() || query.terms == 1 ? 0 : 1; step.term < query.terms; ++step.term) {
      step.to = (query.terms - step.term) % 2 == 1 ? results : others;  // the last step's are the results
      take(step);
      step.from = step.to;
    }
  }
}

/// Wang et al. (Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section
/// 3.1.1): a thread looks up a document of the shortest list in one bucket of each other list, in rounds.
__device__ inline void answer_by_hash_segments(const IntersectView& batch, const ThreadBlockScan<plain_threads>& scan,
                                               std::uint32_t number) {
  const IntersectQuery& query = batch.queries[number];
  const UnpackedList shortest(batch, list_of(batch, query, 0));
  const auto in_all = [&](std::uint32_t docid) {
    bool found = batch.has(docid);
    for (std::uint32_t t = 1; found && t < query.terms; ++t)
      found = UnpackedList(batch, list_of(batch, query, t)).has(docid);
    return found;
  };
  const std::uint32_t found =
      keep_documents(scan, shortest.words, shortest.df, in_all, batch.results + query.first_word);
  if (threadIdx.x == 0) batch.counts[query.first_item] = found;
}

}  // namespace quern::gpu
