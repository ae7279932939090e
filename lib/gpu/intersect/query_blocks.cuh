#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersect/intersect_view.cuh"

/// Intersections of unpacked lists as in two papers, with a thread block per query.
namespace quern::gpu {

/// Appends the docIDs of the threads with `keep` to `results`, in the order of threads, after the `found` docIDs that
/// are there, and counts them in `found`. By a whole thread block.
template <unsigned threads>
__device__ inline void append(const BlockScan<threads>& scan, bool keep, std::uint32_t docid, std::uint32_t* results,
                              std::uint32_t& found) {
  std::uint32_t kept = 0;
  const std::uint32_t place = scan.exclusive_sum(keep ? 1 : 0, kept);
  if (keep) results[found + place] = docid;
  found += kept;
}

/// Wu et al. (A Batched GPU Algorithm for Set Intersection, ISPAN 2009, section III): the shortest list is intersected
/// with one longer list after another, in segments of one document per thread: binary search in the longer list, a
/// prefix sum over what was found, and compaction.
class BatchedBlock {
 public:
  using Scan = BlockScan<batched_threads>;
  __device__ BatchedBlock(const IntersectView& batch, Scan::TempStorage& temp) : batch_(batch), scan_(temp) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    std::uint32_t* results = batch_.results + query.first_word;
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    const std::uint32_t* from = shortest.words;
    std::uint32_t count = shortest.df;
    if (batch_.is_window()) {
      count = keep(
          from, count, [&](std::uint32_t docid) { return batch_.has(docid); }, results);
      from = results;
    }
    for (std::uint32_t t = 1; t < query.terms && count > 0; ++t, from = results) {
      const UnpackedList list(batch_, list_of(batch_, query, t));
      count = keep(
          from, count, [&](std::uint32_t docid) { return list.has(docid); }, results);
    }
    if (query.terms == 1)
      for (std::uint32_t i = threadIdx.x; i < count && from != results; i += blockDim.x) results[i] = from[i];
    if (threadIdx.x == 0) batch_.counts[query.first_part] = count;
  }

 private:
  /// Writes the documents of `from` for which has(docid) is true to `results`, which may be `from` itself: a segment is
  /// read before it is overwritten. Returns how many there are.
  template <class Has>
  __device__ std::uint32_t keep(const std::uint32_t* from, std::uint32_t count, Has&& has,
                                std::uint32_t* results) const {
    std::uint32_t found = 0;
    for (std::uint32_t first = 0; first < count; first += batched_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint32_t docid = i < count ? from[i] : 0;
      const bool in_list = i < count && has(docid);
      append(scan_, in_list, docid, results, found);
    }
    __syncthreads();
    return found;
  }

  const IntersectView& batch_;
  Scan scan_;
};

/// Wang et al. (Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section
/// 3.1.1): a thread looks up a document of the shortest list in one bucket of each other list, in as many rounds as the
/// list needs.
class HashSegmentsBlock {
 public:
  using Scan = BlockScan<plain_threads>;
  __device__ HashSegmentsBlock(const IntersectView& batch, Scan::TempStorage& temp) : batch_(batch), scan_(temp) {}

  __device__ void run(std::uint32_t number) const {
    const IntersectQuery& query = batch_.queries[number];
    std::uint32_t* results = batch_.results + query.first_word;
    const UnpackedList shortest(batch_, list_of(batch_, query, 0));
    std::uint32_t found = 0;
    for (std::uint32_t first = 0; first < shortest.df; first += plain_threads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint32_t docid = i < shortest.df ? shortest.words[i] : 0;
      bool in_all = i < shortest.df && batch_.has(docid);
      for (std::uint32_t t = 1; in_all && t < query.terms; ++t)
        in_all = UnpackedList(batch_, list_of(batch_, query, t)).has(docid);
      append(scan_, in_all, docid, results, found);
    }
    if (threadIdx.x == 0) batch_.counts[query.first_part] = found;
  }

 private:
  const IntersectView& batch_;
  Scan scan_;
};

}  // namespace quern::gpu
