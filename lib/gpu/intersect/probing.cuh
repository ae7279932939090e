#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersect/intersect_view.cuh"

/// Intersection of unpacked lists: a warp looks up docIDs of the shortest list in the others or, if all lists are bits,
/// computes their bitwise AND.
namespace quern::gpu {

class ProbingWarp {
 public:
  __device__ explicit ProbingWarp(const IntersectView& batch) : batch_(batch) {}

  __device__ void run() const {
    for_each_item(batch_, ItemRange::unpacked(batch_),
                  [&](const IntersectQuery& query, std::uint32_t item, std::uint32_t place) {
                    const std::uint32_t count = query.bits != 0 ? and_bits(query, place) : look_up(query, place);
                    if (lane_id() == 0) batch_.counts[item] = count;
                  });
  }

 private:
  /// DocIDs that a lane looks up together, which is the number of reads in flight.
  static constexpr unsigned documents_per_lane = 8;

  __device__ std::uint32_t look_up(const IntersectQuery& query, std::uint32_t place) const {
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    const std::uint32_t first = place * query.item_size, end = min(first + query.item_size, shortest.df);
    std::uint32_t* to = results_of_item(batch_, query, place);
    std::uint32_t found = 0;
    for (std::uint32_t i = first; i < end; i += documents_per_lane * lanes_per_warp)
      found += look_up(query, shortest.words + i, end - i, to + found);
    return found;
  }

  /// Looks up a few documents per lane in all other lists, and writes those that all contain. Returns their number.
  __device__ std::uint32_t look_up(const IntersectQuery& query, const std::uint32_t* from, std::uint32_t count,
                                   std::uint32_t* to) const {
    std::uint32_t docids[documents_per_lane];
    unsigned alive = 0;
#pragma unroll
    for (unsigned i = 0; i < documents_per_lane; ++i) {
      const unsigned place = i * lanes_per_warp + lane_id();
      docids[i] = place < count ? from[place] : 0;
      if (place < count) alive |= 1u << i;
    }
    for (std::uint32_t t = 1; t < query.terms && __any_sync(all_lanes, alive != 0); ++t) {
      const UnpackedList list(batch_, list_of(batch_, query, t));
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

  /// Writes an item's bitwise AND of all lists, and returns the number of set bits.
  __device__ std::uint32_t and_bits(const IntersectQuery& query, std::uint32_t place) const {
    const std::uint32_t first = place * query.item_size;
    const std::uint32_t size = min(query.item_size, bit_words(batch_.num_documents) - first);
    std::uint32_t* to = results_of_item(batch_, query, place);
    std::uint32_t found = 0;
    for (std::uint32_t i = 4 * lane_id(); i < size; i += 4 * lanes_per_warp) {
      uint4 common = make_uint4(~0u, ~0u, ~0u, ~0u);
      for (std::uint32_t t = 0; t < query.terms; ++t) {
        const UnpackedList list(batch_, list_of(batch_, query, t));
        const uint4 bits = *reinterpret_cast<const uint4*>(list.words + first + i);
        common.x &= bits.x, common.y &= bits.y, common.z &= bits.z, common.w &= bits.w;
      }
      *reinterpret_cast<uint4*>(to + i) = common;
      found += __popc(common.x) + __popc(common.y) + __popc(common.z) + __popc(common.w);
    }
    return warp_sum(found);
  }

  const IntersectView& batch_;
};

// Intersections of unpacked lists as in two papers, by a thread block per query.

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
/// prefix sum over what was found, and compaction.
class BatchedBlock {
 public:
  using Scan = ThreadBlockScan<batched_threads>;
  __device__ BatchedBlock(const IntersectView& batch, Scan::TempStorage& temp) : batch_(batch), scan_(temp) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    std::uint32_t* results = batch_.results + query.first_word;
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    const std::uint32_t* from = shortest.words;
    std::uint32_t count = shortest.df;
    if (batch_.is_window()) {
      count = keep_documents(
          scan_, from, count, [&](std::uint32_t docid) { return batch_.has(docid); }, results);
      from = results;
    }
    for (std::uint32_t t = 1; t < query.terms && count > 0; ++t, from = results) {
      const UnpackedList list(batch_, list_of(batch_, query, t));
      count = keep_documents(
          scan_, from, count, [&](std::uint32_t docid) { return list.has(docid); }, results);
    }
    if (query.terms == 1)
      for (std::uint32_t i = threadIdx.x; i < count && from != results; i += blockDim.x) results[i] = from[i];
    if (threadIdx.x == 0) batch_.counts[query.first_item] = count;
  }

 private:
  const IntersectView& batch_;
  Scan scan_;
};

/// Wang et al. (Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section
/// 3.1.1): a thread looks up a document of the shortest list in one bucket of each other list, in as many rounds as the
/// list needs.
class HashSegmentsBlock {
 public:
  using Scan = ThreadBlockScan<plain_threads>;
  __device__ HashSegmentsBlock(const IntersectView& batch, Scan::TempStorage& temp) : batch_(batch), scan_(temp) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    const auto in_all = [&](std::uint32_t docid) {
      bool found = batch_.has(docid);
      for (std::uint32_t t = 1; found && t < query.terms; ++t)
        found = UnpackedList(batch_, list_of(batch_, query, t)).has(docid);
      return found;
    };
    const std::uint32_t found =
        keep_documents(scan_, shortest.words, shortest.df, in_all, batch_.results + query.first_word);
    if (threadIdx.x == 0) batch_.counts[query.first_item] = found;
  }

 private:
  const IntersectView& batch_;
  Scan scan_;
};

}  // namespace quern::gpu
