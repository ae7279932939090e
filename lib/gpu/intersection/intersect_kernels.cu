#include <algorithm>

#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/intersection/intersect_kernels.hpp"
#include "quern/gpu/intersection/pack.cuh"
#include "quern/gpu/intersection/probing.cuh"
#include "quern/gpu/intersection/query_blocks.cuh"

namespace quern::gpu {
namespace {

/// A thread for each entry; those of a list stand together.
__global__ void __launch_bounds__(plain_threads) run_directories(const __grid_constant__ IntersectView batch) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < batch.unpack_entries; i += step) {
    // The last task whose entries begin here or before. A task without entries begins where the next one does.
    const UnpackTask& task = batch.unpack[last_not_above(
        batch.num_unpack, i, [&](std::uint32_t number) { return batch.unpack[number].first_entry; })];
    const auto bucket = static_cast<std::uint32_t>(i - task.first_entry);
    batch.unpacked[task.to.first_bucket + bucket] =
        bucket_start(batch.unpacked + task.to.first_word, task.list.df, task.to.bucket_shift, bucket);
  }
}

__global__ void __launch_bounds__(plain_threads) run_probing(const __grid_constant__ IntersectView batch) {
  ProbingWarp(batch).run();
}

__global__ void __launch_bounds__(batched_threads) run_batched(const __grid_constant__ IntersectView batch) {
  __shared__ BatchedBlock::Scan::Room room;
  BatchedBlock(batch, room).run(blockIdx.x);
}

__global__ void __launch_bounds__(plain_threads) run_hash_segments(const __grid_constant__ IntersectView batch) {
  __shared__ HashSegmentsBlock::Scan::Room room;
  HashSegmentsBlock(batch, room).run(blockIdx.x);
}

}  // namespace

void write_directories(const IntersectView& batch, cudaStream_t stream) {
  run_directories<<<resident_blocks(run_directories, plain_threads, 0), plain_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
}

void probe(const IntersectView& batch, cudaStream_t stream) {
  run_probing<<<resident_blocks(run_probing, plain_threads, 0), plain_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
}

void intersect_batched(const IntersectView& batch, cudaStream_t stream) {
  run_batched<<<batch.num_queries, batched_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
}

void intersect_hash_segments(const IntersectView& batch, cudaStream_t stream) {
  run_hash_segments<<<batch.num_queries, plain_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
}

std::uint32_t tiles_of(std::uint32_t parts) { return (parts + parts_per_tile - 1) / parts_per_tile; }

void pack(const IntersectView& batch, bool by_query, cudaStream_t stream) {
  const std::uint32_t tiles = tiles_of(batch.num_parts);
  sum_tiles<<<tiles, plain_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
  scan_tiles<<<1, plain_threads, 0, stream>>>(batch, tiles);
  CUDA_CHECK(cudaGetLastError());
  if (by_query)
    pack_queries<<<batch.num_queries, plain_threads, 0, stream>>>(batch);
  else
    pack_parts<<<resident_blocks(pack_parts, plain_threads, 0), plain_threads, 0, stream>>>(batch);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace quern::gpu
