#include "quern/gpu/device/resident_blocks.hpp"
#include "quern/gpu/range/kernels.hpp"
#include "quern/gpu/range/range_lookup.cuh"
#include "quern/gpu/range/union.cuh"

namespace quern::gpu {
namespace {

__global__ void __launch_bounds__(union_threads, union_blocks)
    run_union(const __grid_constant__ BatchView batch, Pruning pruning) {
  extern __shared__ __align__(16) unsigned char shared[];
  UnionBlock(batch, *reinterpret_cast<UnionRoom*>(shared), pruning).run();
}

__global__ void __launch_bounds__(plain_threads) run_range_intersection(const __grid_constant__ BatchView batch) {
  RangeIntersection(batch).run();
}

}  // namespace

void unite(const BatchView& batch, Pruning pruning, cudaStream_t stream) {
  const unsigned blocks = resident_blocks(run_union, union_threads, sizeof(UnionRoom));
  run_union<<<std::min(blocks, batch.ranges * batch.num_chunks), union_threads, sizeof(UnionRoom), stream>>>(batch,
                                                                                                             pruning);
  CUDA_CHECK(cudaGetLastError());
}

void intersect_ranges(const BatchView& batch, cudaStream_t stream) {
  run_range_intersection<<<resident_blocks(run_range_intersection, plain_threads, 0), plain_threads, 0, stream>>>(
      batch);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace quern::gpu
