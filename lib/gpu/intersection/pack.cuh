#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersection/intersect_parts.cuh"

/// Moves what parts have found together: queries one behind the other, documents rising.
namespace quern::gpu {

/// Parts whose counts a thread block sums up.
inline constexpr unsigned parts_per_thread = 16, parts_per_tile = parts_per_thread * plain_threads;

/// Each part's offset in its tile, and each tile's sum.
__global__ void __launch_bounds__(plain_threads) sum_tiles(const __grid_constant__ IntersectView batch) {
  __shared__ BlockScan<plain_threads>::Room room;
  const std::uint32_t first = blockIdx.x * parts_per_tile + threadIdx.x * parts_per_thread;
  std::uint32_t counts[parts_per_thread], own = 0, total = 0;
#pragma unroll
  for (unsigned i = 0; i < parts_per_thread; ++i)
    own += counts[i] = first + i < batch.num_parts ? batch.counts[first + i] : 0;
  std::uint32_t offset = BlockScan<plain_threads>(room).exclusive_sum(own, total);
#pragma unroll
  for (unsigned i = 0; i < parts_per_thread; ++i) {
    if (first + i < batch.num_parts) batch.offsets[first + i] = offset;
    offset += counts[i];
  }
  if (threadIdx.x == 0) batch.tile_sums[blockIdx.x] = total;
}

/// The tiles' sums become the sums of those before; by one thread block.
__global__ void __launch_bounds__(plain_threads)
    scan_tiles(const __grid_constant__ IntersectView batch, std::uint32_t tiles) {
  __shared__ BlockScan<plain_threads>::Room room;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tiles; first += plain_threads) {
    const std::uint32_t i = first + threadIdx.x;
    std::uint32_t total = 0;
    const std::uint32_t sum = BlockScan<plain_threads>(room).exclusive_sum(i < tiles ? batch.tile_sums[i] : 0, total);
    if (i < tiles) batch.tile_sums[i] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) batch.begins[batch.num_queries] = before;
}

/// Writes the documents of 32 words of bits, one a lane, the first of which stands for document `first`.
__device__ inline std::uint32_t* put_bits(std::uint32_t word, std::uint32_t first, std::uint32_t* to) {
  const std::uint32_t own = __popc(word), end = inclusive_sum(own);
  std::uint32_t* own_to = to + end - own;
  for (; word != 0; word &= word - 1) *own_to++ = first + 32 * lane_id() + __ffs(word) - 1;
  return to + last_lane(end);
}

/// A warp a part: of queries with many small ones.
__global__ void __launch_bounds__(plain_threads) pack_parts(const __grid_constant__ IntersectView batch) {
  for_each_part(batch, {0, batch.num_queries, 0, batch.num_parts, batch.next_part + 2},
                [&](const IntersectQuery& query, std::uint32_t part, std::uint32_t place) {
                  const std::uint32_t offset = batch.tile_sums[part / parts_per_tile] + batch.offsets[part];
                  const std::uint32_t count = batch.counts[part];
                  if (place == 0 && lane_id() == 0) batch.begins[&query - batch.queries] = offset;
                  const std::uint32_t* from = room_of(batch, query, place);
                  std::uint32_t* to = batch.documents + offset;
                  if (query.bits == 0) {
                    for (std::uint32_t i = lane_id(); i < count; i += lanes_per_warp) to[i] = from[i];
                  } else if (count > 0) {
                    const std::uint32_t first = place * query.part_size;
                    const std::uint32_t size = min(query.part_size, bit_words(batch.num_documents) - first);
                    for (std::uint32_t i = 0; i < size; i += lanes_per_warp)
                      to = put_bits(from[i + lane_id()], 32 * (first + i), to);
                  }
                });
}

/// A thread block a part: of queries with one.
__global__ void __launch_bounds__(plain_threads) pack_queries(const __grid_constant__ IntersectView batch) {
  const std::uint32_t part = blockIdx.x;
  const std::uint32_t offset = batch.tile_sums[part / parts_per_tile] + batch.offsets[part];
  if (threadIdx.x == 0) batch.begins[part] = offset;
  const std::uint32_t* from = room_of(batch, batch.queries[part], 0);
  for (std::uint32_t i = threadIdx.x; i < batch.counts[part]; i += blockDim.x) batch.documents[offset + i] = from[i];
}

}  // namespace quern::gpu
