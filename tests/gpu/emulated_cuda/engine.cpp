#include "gpu/emulated_gpu.hpp"
#undef __shared__
#define __shared__ static  // host threads take turns

/// The library's CUDA sources for an emulated GPU, instead of lib/gpu/without_cuda.cpp.
#include "quern/gpu/device/device_index.cu"
#include "quern/gpu/intersect/coded_kernels.cuh"
#include "quern/gpu/intersect/intersect_kernels.cu"
#include "quern/gpu/intersect/intersect_runner.cu"
#include "quern/gpu/papers/ding/ding.cu"
#include "quern/gpu/papers/ding/ding_kernels.cuh"
#include "quern/gpu/papers/partition/partition.cu"
#include "quern/gpu/papers/partition/partition_kernels.cuh"
#include "quern/gpu/papers/wang/wang.cu"
#include "quern/gpu/papers/wang/wang_kernels.cuh"
#include "quern/gpu/range/range.cu"
#include "quern/gpu/range/range_kernels.cuh"
#include "quern/gpu/rank/models/scoring.cu"
#include "quern/gpu/rank/rerank_flight.cu"
#include "quern/gpu/store/list_store.cu"
#include "quern/gpu/store/word_mover.cu"
#include "quern/gpu/worker/batch_runner.cu"

namespace quern::gpu {

#define QUERN_KERNELS(coding)                        \
  template struct RangeKernels<Coding::coding>;      \
  template struct IntersectLaunches<Coding::coding>; \
  template struct DingKernels<Coding::coding>;       \
  template struct WangKernels<Coding::coding>;
QUERN_GPU_CODINGS(QUERN_KERNELS)
template struct PartitionKernels<Coding::maskpfd>;
template struct PartitionKernels<Coding::newpfd>;
template struct PartitionKernels<Coding::rpfd>;
template struct PartitionKernels<Coding::rice>;

}  // namespace quern::gpu
