#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersection/intersect_parts.cuh"

/// Intersections by the papers that have a thread block for each query, and all lists unpacked.
namespace quern::gpu {

/// Wu et al. (A Batched GPU Algorithm for Set Intersection, ISPAN 2009, section III): the shortest list is thinned out
/// by one longer list after another. For a segment of as many documents as there are threads: binary search in the
/// longer list, a scan over what was found, and compaction.
class BatchedBlock {
 public:
  using Scan = BlockScan<batched_threads>;
  __device__ BatchedBlock(const IntersectView& batch, Scan::Room& room) : batch_(batch), scan_(room) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    std::uint32_t* results = batch_.room + query.first_word;
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    const std::uint32_t* from = shortest.words;
    std::uint32_t count = shortest.df;
    for (std::uint32_t t = 1; t < query.terms && count > 0; ++t, from = results)
      count = thin_out(from, count, UnpackedList(batch_, list_of(batch_, query, t)), results);
    if (query.terms == 1)
      for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) results[i] = from[i];
    if (threadIdx.x == 0) batch_.counts[query.first_part] = count;
  }

 private:
  /// `from` may be where the results go: a segment is read before it is overwritten.
  __device__ std::uint32_t thin_out(const std::uint32_t* from, std::uint32_t count, const UnpackedList& list,
                                    std::uint32_t* results) const {
    std::uint32_t found = 0;
    for (std::uint32_t first = 0; first < count; first += batched_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint32_t docid = i < count ? from[i] : 0;
      const bool in_list = i < count && list.has(docid);
      std::uint32_t in_segment = 0;
      const std::uint32_t place = scan_.exclusive_sum(in_list ? 1 : 0, in_segment);
      if (in_list) results[found + place] = docid;
      found += in_segment;
    }
    __syncthreads();
    return found;
  }

  const IntersectView& batch_;
  Scan scan_;
};

/// Wang et al. (Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section
/// 3.1.1): each document of the shortest list has a thread, which looks it up in one bucket of each other list; rounds
/// go on until the list is through.
class HashSegmentsBlock {
 public:
  using Scan = BlockScan<plain_threads>;
  __device__ HashSegmentsBlock(const IntersectView& batch, Scan::Room& room) : batch_(batch), scan_(room) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    std::uint32_t* results = batch_.room + query.first_word;
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    std::uint32_t found = 0;
    for (std::uint32_t first = 0; first < shortest.df; first += plain_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint32_t docid = i < shortest.df ? shortest.words[i] : 0;
      bool in_all = i < shortest.df;
      for (std::uint32_t t = 1; in_all && t < query.terms; ++t)
        in_all = UnpackedList(batch_, list_of(batch_, query, t)).has(docid);
      std::uint32_t in_round = 0;
      const std::uint32_t place = scan_.exclusive_sum(in_all ? 1 : 0, in_round);
      if (in_all) results[found + place] = docid;
      found += in_round;
    }
    if (threadIdx.x == 0) batch_.counts[query.first_part] = found;
  }

 private:
  const IntersectView& batch_;
  Scan scan_;
};

}  // namespace quern::gpu
