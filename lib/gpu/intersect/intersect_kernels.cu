#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/intersect/intersect_kernels.hpp"
#include "quern/gpu/intersect/probing.cuh"

namespace quern::gpu {
namespace {

// Packing moves the results of all items to one array, by query. A tile is a thread block's items.

constexpr unsigned items_per_thread = 16, items_per_tile = items_per_thread * plain_threads;

/// Writes each item's offset in its tile, and each tile's sum of counts.
__global__ void __launch_bounds__(plain_threads) sum_tiles(const __grid_constant__ IntersectView batch) {
  __shared__ ThreadBlockScan<plain_threads>::TempStorage temp;
  const std::uint32_t first = blockIdx.x * items_per_tile + threadIdx.x * items_per_thread;
  std::uint32_t counts[items_per_thread], own = 0, total = 0;
#pragma unroll
  for (unsigned i = 0; i < items_per_thread; ++i)
    own += counts[i] = first + i < batch.items ? batch.counts[first + i] : 0;
  std::uint32_t offset = ThreadBlockScan<plain_threads>(temp).exclusive_sum(own, total);
#pragma unroll
  for (unsigned i = 0; i < items_per_thread; ++i) {
    if (first + i < batch.items) batch.offsets[first + i] = offset;
    offset += counts[i];
  }
  if (threadIdx.x == 0) batch.tile_sums[blockIdx.x] = total;
}

/// Replaces each tile's sum by the sum of the tiles before it. Called by one thread block.
__global__ void __launch_bounds__(plain_threads)
    scan_tiles(const __grid_constant__ IntersectView batch, std::uint32_t tiles) {
  __shared__ ThreadBlockScan<plain_threads>::TempStorage temp;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tiles; first += plain_threads) {
    const std::uint32_t i = first + threadIdx.x;
    std::uint32_t total = 0;
    const std::uint32_t sum =
        ThreadBlockScan<plain_threads>(temp).exclusive_sum(i < tiles ? batch.tile_sums[i] : 0, total);
    if (i < tiles) batch.tile_sums[i] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) batch.begins[batch.num_queries] = before;
}

/// Writes the documents of 32 words of bits, one per lane, from document `first` on. Returns the end of the docIDs.
__device__ std::uint32_t* put_bits(std::uint32_t word, std::uint32_t first, std::uint32_t* to) {
  const std::uint32_t own = __popc(word), end = inclusive_sum(own);
  std::uint32_t* own_to = to + end - own;
  for (; word != 0; word &= word - 1) *own_to++ = first + 32 * lane_id() + __ffs(word) - 1;
  return to + last_lane(end);
}

/// Packs queries of many small items, a warp per item.
__global__ void __launch_bounds__(plain_threads) pack_items(const __grid_constant__ IntersectView batch) {
  for_each_item(batch, {0, batch.num_queries, 0, batch.items, batch.next_item + 2},
                [&](const IntersectQuery& query, std::uint32_t item, std::uint32_t place) {
                  const std::uint32_t offset = batch.tile_sums[item / items_per_tile] + batch.offsets[item];
                  const std::uint32_t count = batch.counts[item];
                  if (place == 0 && lane_id() == 0) batch.begins[&query - batch.queries] = offset;
                  const std::uint32_t* from = results_of_item(batch, query, place);
                  std::uint32_t* to = batch.documents + offset;
                  if (query.bits == 0) {
                    for (std::uint32_t i = lane_id(); i < count; i += lanes_per_warp) to[i] = from[i];
                  } else if (count > 0) {
                    const std::uint32_t first = place * query.item_size;
                    const std::uint32_t size = min(query.item_size, bit_words(batch.num_documents) - first);
                    for (std::uint32_t i = 0; i < size; i += lanes_per_warp)
                      to = put_bits(from[i + lane_id()], 32 * (first + i), to);
                  }
                });
}

/// Packs queries of a single item, a thread block per query.
__global__ void __launch_bounds__(plain_threads) pack_queries(const __grid_constant__ IntersectView batch) {
  const std::uint32_t item = blockIdx.x;
  const std::uint32_t offset = batch.tile_sums[item / items_per_tile] + batch.offsets[item];
  if (threadIdx.x == 0) batch.begins[item] = offset;
  const std::uint32_t* from = results_of_item(batch, batch.queries[item], 0);
  for (std::uint32_t i = threadIdx.x; i < batch.counts[item]; i += blockDim.x) batch.documents[offset + i] = from[i];
}

/// Fills unpacked lists with zeros, a warp per tile, since lists have any place and size.
__global__ void __launch_bounds__(plain_threads) run_clearing(const __grid_constant__ IntersectView batch) {
  constexpr std::uint32_t warps = plain_threads / lanes_per_warp;
  const std::uint32_t warp = blockIdx.x * warps + threadIdx.x / lanes_per_warp;
  for (std::uint32_t tile = warp; tile < batch.unpack_tiles; tile += gridDim.x * warps) {
    const UnpackTask& task = batch.unpack[last_not_above(
        batch.num_unpack, tile, [&](std::uint32_t number) { return batch.unpack[number].first_tile; })];
    const std::uint64_t first = std::uint64_t{tile - task.first_tile} * zeroed_tile;
    const std::uint64_t end = min(first + zeroed_tile, task.to.words);
    std::uint32_t* words = batch.unpacked + task.to.first_word;
    for (std::uint64_t i = first + lane_id(); i < end; i += lanes_per_warp) words[i] = 0;
  }
}

/// Writes directories of buckets, a thread per entry.
__global__ void __launch_bounds__(plain_threads) run_directories(const __grid_constant__ IntersectView batch) {
  for_own_entries(
      batch.unpack_entries, batch.num_unpack, [&](std::uint32_t number) { return batch.unpack[number].first_entry; },
      [&](std::uint32_t number, std::uint64_t, std::uint32_t bucket) {
        const UnpackTask& task = batch.unpack[number];
        batch.unpacked[task.to.first_bucket + bucket] = bucket_start(batch.unpacked + task.to.first_word, task.postings,
                                                                     task.to.bucket_shift, task.to.first_docid, bucket);
      });
}

__global__ void __launch_bounds__(plain_threads) run_probing(const __grid_constant__ IntersectView batch) {
  probe_items(batch);
}

__global__ void __launch_bounds__(batched_threads) run_batched(const __grid_constant__ IntersectView batch) {
  __shared__ ThreadBlockScan<batched_threads>::TempStorage temp;
  answer_batched(batch, ThreadBlockScan<batched_threads>(temp), blockIdx.x);
}

__global__ void __launch_bounds__(plain_threads) run_hash_segments(const __grid_constant__ IntersectView batch) {
  __shared__ ThreadBlockScan<plain_threads>::TempStorage temp;
  answer_by_hash_segments(batch, ThreadBlockScan<plain_threads>(temp), blockIdx.x);
}

__global__ void __launch_bounds__(batched_threads)
    run_serial_search(const __grid_constant__ IntersectView batch, const __grid_constant__ SerialStep step) {
  search_serially(batch, step);
}

__global__ void __launch_bounds__(batched_threads)
    run_serial_compaction(const __grid_constant__ IntersectView batch, const __grid_constant__ SerialStep step) {
  compact_serially(batch, step, items_per_tile);
}

}  // namespace

void clear_places(const IntersectView& batch, cudaStream_t stream) {
  launch_resident(run_clearing, plain_threads, 0, stream, batch);
}

void write_directories(const IntersectView& batch, cudaStream_t stream) {
  launch_resident(run_directories, plain_threads, 0, stream, batch);
}

void probe(const IntersectView& batch, cudaStream_t stream) {
  launch_resident(run_probing, plain_threads, 0, stream, batch);
}

void intersect_batched(const IntersectView& batch, cudaStream_t stream) {
  launch(run_batched, batch.num_queries, batched_threads, 0, stream, batch);
}

void intersect_hash_segments(const IntersectView& batch, cudaStream_t stream) {
  launch(run_hash_segments, batch.num_queries, plain_threads, 0, stream, batch);
}

std::size_t serial_words(const IntersectArrays& arrays) { return serial_words(arrays, pack_tiles); }

void intersect_serially(const IntersectArrays& arrays, const IntersectView& batch, std::uint32_t* memory,
                        cudaStream_t stream) {
  for_each_serial_step(arrays, batch, memory, [&](const SerialStep& step) {
    const std::uint32_t blocks = std::max(1u, (step.size + batched_threads - 1) / batched_threads);
    launch(run_serial_search, blocks, batched_threads, 0, stream, batch, step);
    IntersectView scan;
    scan.items = step.size;
    scan.counts = step.kept;
    scan.offsets = step.offsets;
    scan.tile_sums = step.tile_sums;
    scan.begins = step.count;
    const std::uint32_t tiles = std::max(1u, pack_tiles(step.size));
    launch(sum_tiles, tiles, plain_threads, 0, stream, scan);
    launch(scan_tiles, 1, plain_threads, 0, stream, scan, tiles);
    launch(run_serial_compaction, blocks, batched_threads, 0, stream, batch, step);
  });
}

std::uint32_t pack_tiles(std::uint32_t items) { return (items + items_per_tile - 1) / items_per_tile; }

void pack(const IntersectView& batch, bool by_query, cudaStream_t stream) {
  const std::uint32_t tiles = pack_tiles(batch.items);
  launch(sum_tiles, tiles, plain_threads, 0, stream, batch);
  launch(scan_tiles, 1, plain_threads, 0, stream, batch, tiles);
  if (by_query)
    launch(pack_queries, batch.num_queries, plain_threads, 0, stream, batch);
  else
    launch_resident(pack_items, plain_threads, 0, stream, batch);
}

}  // namespace quern::gpu
