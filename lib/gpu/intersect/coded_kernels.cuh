#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/intersect/coded_lists.cuh"
#include "quern/gpu/intersect/intersect_kernels.hpp"

/// Launches of the kernels that decode posting lists.
namespace quern::gpu {

template <Coding coding>
void IntersectLaunches<coding>::unpack(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    launch_resident(unpack_lists<coding, V>, plain_threads, index.left_free, stream, index, batch);
  });
}

template <Coding coding>
void IntersectLaunches<coding>::skip(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    launch_resident(run_skipping<coding, V>, plain_threads, index.left_free, stream, index, batch);
  });
}

template <Coding coding>
void IntersectLaunches<coding>::merge_find(const IndexView& index, const IntersectView& batch, cudaStream_t stream) {
  with_values_per_lane(index.block_size, [&]<int V>() {
    launch_resident(run_merge_find<coding, V>, plain_threads, index.left_free, stream, index, batch);
  });
}

}  // namespace quern::gpu
