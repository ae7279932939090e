#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersect/intersect_view.cuh"
#include "quern/gpu/intersect/merge_find.hpp"
#include "quern/gpu/worker/lookup.cuh"

/// Intersection by Parallel Merge Find (Ding et al.: Using Graphics Processors for High Performance IR Query
/// Processing, WWW 2009, section 8.1). For one list after another: finds the remaining documents among the maximum
/// docIDs of the list's blocks, decodes the blocks that may contain one, and searches for the documents in them. A
/// thread block takes a tile of the shortest list.
namespace quern::gpu {

/// A thread block's shared memory.
template <int V>
struct MergeFindShared {
  static constexpr unsigned warps = plain_threads / lanes_per_warp;
  std::uint32_t docids[merge_find_tile];
  std::uint32_t rows[merge_find_tile];   ///< per document: the block that may contain it
  std::uint32_t heads[merge_find_tile];  ///< per such block: its first document
  std::uint32_t warp_buffers[warps * WarpBuffer<V>::size];
  typename BlockScan<plain_threads>::TempStorage scan;
  std::uint32_t part;
};

template <Coding coding, int V>
class MergeFindBlock {
 public:
  __device__ MergeFindBlock(const IndexView& index, const IntersectView& batch, MergeFindShared<V>& shared)
      : index_(index),
        batch_(batch),
        shared_(shared),
        scan_(shared.scan),
        warp_buffer_{shared.warp_buffers + warp() * WarpBuffer<V>::size},
        decoder_(index, warp_buffer_) {}

  __device__ void run() {
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) shared_.part = atomicAdd(batch_.next_part, 1u);
      __syncthreads();
      const std::uint32_t part = shared_.part;
      if (part >= batch_.coded_parts) return;
      const IntersectQuery& query = batch_.queries[query_of_part(batch_.queries, 0, batch_.coded_queries, part)];
      const std::uint32_t place = part - query.first_part;
      take_tile(list_of(batch_, query, 0).coded, place, query.part_size);
      if (batch_.is_window()) keep([&](std::uint32_t i) { return batch_.has(shared_.docids[i]); });
      for (std::uint32_t t = 1; t < query.terms && count_ > 0; ++t) intersect_with(list_of(batch_, query, t).coded);
      std::uint32_t* to = results_of_part(batch_, query, place);
      for (std::uint32_t i = threadIdx.x; i < count_; i += blockDim.x) to[i] = shared_.docids[i];
      if (threadIdx.x == 0) batch_.counts[part] = count_;
    }
  }

 private:
  static constexpr unsigned own_documents = merge_find_tile / plain_threads;  ///< documents per thread
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  __device__ void take_tile(const ListView& list, std::uint32_t tile, std::uint32_t size) {
    const std::uint32_t first = list.first_posting(index_.block_size) + tile * size;
    count_ = min(list.end_posting(index_.block_size) - first, size);
    if (list.raw != 0) {
      for (std::uint32_t i = threadIdx.x; i < count_; i += blockDim.x)
        shared_.docids[i] = batch_.raw_docids[list.first_word + first + i];
    } else {
      const std::uint32_t blocks = (count_ + index_.block_size - 1) / index_.block_size;
      for (std::uint32_t i = warp(); i < blocks; i += MergeFindShared<V>::warps) {
        std::uint32_t docids[V];
        const BlockPlace place = place_of(index_, list, first / index_.block_size + i);
        decode_docids<V>(index_, decoder_, place, docids);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const unsigned at = lane_id() * V + j;
          if (at < place.n) shared_.docids[i * index_.block_size + at] = docids[j];
        }
      }
    }
    __syncthreads();
  }

  /// Keeps the documents that the list contains.
  __device__ void intersect_with(const ListView& list) {
    if (list.raw != 0) {
      const std::uint32_t* docids = batch_.raw_docids + list.first_word;
      keep([&](std::uint32_t i) {
        const std::uint32_t place = lower_bound(docids, 0, list.df, shared_.docids[i]);
        return place < list.df && docids[place] == shared_.docids[i];
      });
      return;
    }
    find_rows(list);
    find_in_blocks(list, find_heads(list));
    keep([&](std::uint32_t i) { return shared_.rows[i] == in_list; });
  }

  /// Finds the block that may contain each document, by Parallel Merge Find.
  __device__ void find_rows(const ListView& list) {
    const std::uint32_t* last = index_.block_last + list.first_row;
    const MergeFindPasses passes(count_, batch_.levels);
    for (unsigned pass = 0; pass < passes.passes(); ++pass) {
      const std::uint32_t stride = passes.stride(pass);
      for (std::uint32_t i = threadIdx.x * stride; i < count_; i += blockDim.x * stride)
        if (!passes.looked_up(i, pass))
          shared_.rows[i] = merge_find(passes, pass, shared_.docids, count_, i, last, list.rows, shared_.rows);
      __syncthreads();
    }
  }

  /// Finds the first document of each such block. Returns how many blocks must be decoded.
  __device__ std::uint32_t find_heads(const ListView& list) {
    const auto is_head = [&](std::uint32_t i) {
      return i < count_ && shared_.rows[i] < list.rows && (i == 0 || shared_.rows[i] != shared_.rows[i - 1]);
    };
    const std::uint32_t first = threadIdx.x * own_documents;
    std::uint32_t own = 0, heads = 0;
    for (unsigned i = 0; i < own_documents; ++i) own += is_head(first + i) ? 1 : 0;
    std::uint32_t place = scan_.exclusive_sum(own, heads);
    for (unsigned i = 0; i < own_documents; ++i)
      if (is_head(first + i)) shared_.heads[place++] = first + i;
    __syncthreads();
    return heads;
  }

  /// Decodes these blocks and marks the documents that they contain.
  __device__ void find_in_blocks(const ListView& list, std::uint32_t heads) {
    for (std::uint32_t head = warp(); head < heads; head += MergeFindShared<V>::warps) {
      const std::uint32_t begin = shared_.heads[head], end = head + 1 < heads ? shared_.heads[head + 1] : count_;
      const std::uint32_t row = shared_.rows[begin];
      const BlockPlace place = place_of(index_, list, row);
      std::uint32_t docids[V];
      const bool sound = decode_docids<V>(index_, decoder_, place, docids);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < V; ++i) warp_buffer_.values[lane_id() * V + i] = docids[i];
      __syncwarp();
      for (std::uint32_t i = begin + lane_id(); sound && i < end; i += lanes_per_warp) {
        if (shared_.rows[i] != row) continue;  // after the list's last block
        const std::uint32_t at = lower_bound(warp_buffer_.values, 0, place.n, shared_.docids[i]);
        if (at < place.n && warp_buffer_.values[at] == shared_.docids[i]) shared_.rows[i] = in_list;
      }
      __syncwarp();
    }
    __syncthreads();
  }

  /// Keeps the documents i for which is_in(i) is true, compacted.
  template <class IsIn>
  __device__ void keep(IsIn&& is_in) {
    const std::uint32_t first = threadIdx.x * own_documents;
    std::uint32_t docids[own_documents], own = 0;
#pragma unroll
    for (unsigned i = 0; i < own_documents; ++i)
      if (first + i < count_ && is_in(first + i)) docids[i] = shared_.docids[first + i], own |= 1u << i;
    std::uint32_t left = 0, place = scan_.exclusive_sum(__popc(own), left);
#pragma unroll
    for (unsigned i = 0; i < own_documents; ++i)
      if (own >> i & 1) shared_.docids[place++] = docids[i];
    count_ = left;
    __syncthreads();
  }

  static constexpr std::uint32_t in_list = 0xffffffffu;  ///< in `rows`: the list contains the document

  const IndexView& index_;
  const IntersectView& batch_;
  MergeFindShared<V>& shared_;
  BlockScan<plain_threads> scan_;
  WarpBuffer<V> warp_buffer_;
  typename DecoderOf<coding, V>::Type decoder_;
  std::uint32_t count_ = 0;  ///< remaining documents
};

template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    run_merge_find(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  __shared__ MergeFindShared<V> shared;
  MergeFindBlock<coding, V>(index, batch, shared).run();
}

}  // namespace quern::gpu
