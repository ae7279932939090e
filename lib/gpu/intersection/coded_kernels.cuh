#pragma once
#include "quern/gpu/common/live_documents.cuh"
#include "quern/gpu/decode/decoder.cuh"
#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/intersection/intersect_kernels.hpp"
#include "quern/gpu/intersection/merge_find_block.cuh"

/// Kernels that decode posting lists: unpacking, block skipping, and the launches of both and of Parallel Merge Find.
namespace quern::gpu {

/// Sets the bits of this lane's first `count` documents, whose docIDs rise, one word at a time.
template <int V>
__device__ inline void set_bits(std::uint32_t* bits, const std::uint32_t (&docids)[V], unsigned count) {
  std::uint32_t word = docids[0] >> 5, mask = 0;
#pragma unroll
  for (unsigned i = 0; i < V; ++i) {
    if (i >= count) break;
    if (docids[i] >> 5 != word) {
      atomicOr(bits + word, mask);
      word = docids[i] >> 5;
      mask = 0;
    }
    mask |= 1u << (docids[i] & 31);
  }
  if (mask != 0) atomicOr(bits + word, mask);
}

/// Unpacks the lists of the batch's tasks to docIDs or bits, in memory that is all zeros. A warp unpacks a block.
template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    unpack_lists(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  constexpr unsigned warps = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t buffers[warps * WarpBuffer<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{buffers + warp * WarpBuffer<V>::size});
  const auto unpack = [&](const UnpackTask& task, std::uint32_t block) {
    const BlockPlace place = place_of(index, task.list, block);
    std::uint32_t docids[V];
    if (!decode_docids<V>(index, decoder, place, docids)) return;
    const unsigned first = lane_id() * V, count = first < place.n ? min(place.n - first, static_cast<unsigned>(V)) : 0;
    bool sound = true;
#pragma unroll
    for (unsigned j = 0; j < V; ++j) sound &= j >= count || docids[j] < batch.num_documents;
    if (!__all_sync(all_lanes, sound)) {
      report_damage(index);
      return;
    }
    std::uint32_t* to = batch.unpacked + task.to.first_word;
    if (task.to.format == ListFormat::bits) {
      set_bits<V>(to, docids, count);
      return;
    }
    to += std::uint64_t{block} * index.block_size + first;
#pragma unroll
    for (unsigned j = 0; j < V; ++j)
      if (j < count) to[j] = docids[j];
  };
  for_own_blocks(
      batch.unpack_blocks, batch.num_unpack, [&](std::uint32_t i) { return batch.unpack[i].list.first_block; },
      [&](std::uint32_t i, std::uint32_t block) { unpack(batch.unpack[i], block); });
}

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
    else if (!documents_.take_block(place_of(index_, shortest, block)))
      return false;
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

template <Coding coding>
void IntersectLaunches<coding>::unpack(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    constexpr auto kernel = unpack_lists<coding, V>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch);
    CUDA_CHECK(cudaGetLastError());
  });
}

template <Coding coding>
void IntersectLaunches<coding>::skip(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    constexpr auto kernel = run_skipping<coding, V>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch);
    CUDA_CHECK(cudaGetLastError());
  });
}

template <Coding coding>
void IntersectLaunches<coding>::merge_find(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    constexpr auto kernel = run_merge_find<coding, V>;
    kernel<<<resident_blocks(kernel, plain_threads, 0, index.left_free), plain_threads, 0, stream>>>(index, batch);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace quern::gpu
