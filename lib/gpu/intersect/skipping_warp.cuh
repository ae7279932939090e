#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/intersect/intersect_view.cuh"
#include "quern/gpu/worker/live_documents.cuh"

/// Intersection that decodes only blocks which may contain a document of the shorter lists.
namespace quern::gpu {

/// Block skipping: a warp takes a block of the shortest list and looks its documents up in the other lists: in bits, in
/// buckets, or in those blocks that may contain one of them.
template <Coding coding, int V>
class SkippingWarp {
 public:
  __device__ SkippingWarp(const IndexView& index, const IntersectView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), documents_(index, buffer) {}

  __device__ void run() {
    for_each_part(batch_, PartRange::coded(batch_),
                  [&](const IntersectQuery& query, std::uint32_t part, std::uint32_t place) {
                    const std::uint32_t count = find(query, place) ? put(results_of_part(batch_, query, place)) : 0;
                    if (lane_id() == 0) batch_.counts[part] = count;
                  });
  }

 private:
  __device__ bool find(const IntersectQuery& query, std::uint32_t block) {
    const ListView& shortest = list_of(batch_, query, 0).coded;
    if (shortest.raw != 0)
      documents_.take(batch_.raw_docids + shortest.first_word, shortest.df);
    else if (!documents_.take_block(place_of(index_, shortest, shortest.begin_block + block)))
      return false;
    documents_.keep_if([&](std::uint32_t docid) { return batch_.has(docid); });
    for (std::uint32_t t = 1; t < query.terms; ++t) {
      if (!documents_.any()) return false;
      const IntersectList& list = list_of(batch_, query, t);
      if (list.unpacked.format == ListFormat::coded) {
        documents_.look_up(list.coded, [](auto&&...) {});
      } else {
        const UnpackedList unpacked(batch_, list);
        documents_.keep_if([&](std::uint32_t docid) { return unpacked.has(docid); });
      }
    }
    return true;
  }

  /// Writes the remaining documents; returns how many there are.
  __device__ std::uint32_t put(std::uint32_t* to) const {
    const std::uint32_t own = __popc(documents_.alive()), end = inclusive_sum(own);
    std::uint32_t place = end - own;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (documents_.alive(i)) to[place++] = documents_.docid(i);
    return last_lane(end);
  }

  const IndexView& index_;
  const IntersectView& batch_;
  LiveDocuments<coding, V> documents_;
};

template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    run_skipping(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  __shared__ std::uint32_t buffers[plain_threads / lanes_per_warp * WarpBuffer<V>::size];
  SkippingWarp<coding, V>(index, batch, buffers + threadIdx.x / lanes_per_warp * WarpBuffer<V>::size).run();
}

}  // namespace quern::gpu
