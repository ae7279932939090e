#pragma once
#include "quern/gpu/intersect/intersect_view.cuh"
#include "quern/gpu/worker/live_documents.cuh"

/// Intersection by Parallel Merge Find (Ding et al.: Using Graphics Processors for High Performance IR Query
/// Processing, WWW 2009, section 8.1). List by list, it finds the remaining documents among the blocks' maximum docIDs,
/// decodes the blocks that may contain one, and searches these. A thread block takes a tile of the shortest list.
namespace quern::gpu {

template <int V>
struct MergeFindShared {
  static constexpr unsigned warps = plain_threads / lanes_per_warp;
  std::uint32_t docids[merge_find_tile];
  std::uint32_t rows[merge_find_tile];   ///< per document: the block that may contain it
  std::uint32_t heads[merge_find_tile];  ///< per such block: its first document
  WarpBuffers<V> warp_buffers;
  typename ThreadBlockScan<plain_threads>::TempStorage scan;
  std::uint32_t item;
};

template <Coding coding, int V>
class MergeFindBlock {
 public:
  __device__ MergeFindBlock(const IndexView& index, const IntersectView& batch, MergeFindShared<V>& shared)
      : index_(index),
        batch_(batch),
        shared_(shared),
        scan_(shared.scan),
        warp_buffer_{begin_decoding<coding>(shared.warp_buffers)},
        decoder_(index, warp_buffer_) {}

  __device__ void run() {
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) shared_.item = atomicAdd(batch_.next_item, 1u);
      __syncthreads();
      const std::uint32_t item = shared_.item;
      if (item >= batch_.coded_items) return;
      const IntersectQuery& query = batch_.queries[query_of_item(batch_.queries, 0, batch_.coded_queries, item)];
      const std::uint32_t place = item - query.first_item;
      take_tile(list_of(batch_, query, 0).coded, place, query.item_size);
      if (batch_.is_window()) keep([&](std::uint32_t i) { return batch_.has(shared_.docids[i]); });
      for (std::uint32_t t = 1; t < query.terms && count_ > 0; ++t) intersect_with(list_of(batch_, query, t).coded);
      std::uint32_t* to = results_of_item(batch_, query, place);
      for (std::uint32_t i = threadIdx.x; i < count_; i += blockDim.x) to[i] = shared_.docids[i];
      if (threadIdx.x == 0) batch_.counts[item] = count_;
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

  /// Finds the block that may contain each document by Parallel Merge Find.
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

  /// Finds the first document of each such block. Returns the number of blocks.
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

  /// Decodes these blocks, and marks the documents that they contain.
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
        if (shared_.rows[i] != row) continue;  // the document is after the list's last block
        const std::uint32_t at = lower_bound(warp_buffer_.values, 0, place.n, shared_.docids[i]);
        if (at < place.n && warp_buffer_.values[at] == shared_.docids[i]) shared_.rows[i] = in_list;
      }
      __syncwarp();
    }
    __syncthreads();
  }

  /// Keeps the documents for whose numbers is_in() is true, and compacts them.
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
  ThreadBlockScan<plain_threads> scan_;
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

/// Block skipping: a warp takes a block of the shortest list and looks up its documents in the other lists: in bits, in
/// buckets, or in the blocks that may contain one.
template <Coding coding, int V>
class SkippingWarp {
 public:
  __device__ SkippingWarp(const IndexView& index, const IntersectView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), documents_(index, buffer) {}

  __device__ void run() {
    for_each_item(batch_, ItemRange::coded(batch_),
                  [&](const IntersectQuery& query, std::uint32_t item, std::uint32_t place) {
                    const std::uint32_t count = find(query, place) ? put(results_of_item(batch_, query, place)) : 0;
                    if (lane_id() == 0) batch_.counts[item] = count;
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
  __shared__ WarpBuffers<V> buffers;
  SkippingWarp<coding, V>(index, batch, begin_decoding<coding>(buffers)).run();
}

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

/// Unpacks a task's block number `block` to docIDs or bits, in memory filled with zeros. Called by a whole warp.
template <int V, class Decoder>
__device__ inline void unpack_block(const IndexView& index, const IntersectView& batch, Decoder& decoder,
                                    const UnpackTask& task, std::uint32_t block) {
  const BlockPlace place = place_of(index, task.list, task.list.begin_block + block);
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
}

/// Unpacks this warp's blocks of all tasks of a batch.
template <Coding coding, int V>
__device__ inline void unpack_own_blocks(const IndexView& index, const IntersectView& batch, std::uint32_t* buffer) {
  typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{buffer});
  for_own_blocks(
      batch.unpack_blocks, batch.num_unpack, [&](std::uint32_t i) { return batch.unpack[i].list.first_block; },
      [&](std::uint32_t i, std::uint32_t block) { unpack_block<V>(index, batch, decoder, batch.unpack[i], block); });
}

template <Coding coding, int V>
__global__ void __launch_bounds__(plain_threads)
    unpack_lists(const __grid_constant__ IndexView index, const __grid_constant__ IntersectView batch) {
  __shared__ WarpBuffers<V> buffers;
  unpack_own_blocks<coding, V>(index, batch, begin_decoding<coding>(buffers));
}

}  // namespace quern::gpu
