#include "quern/gpu/partition/partition_kernels.cuh"

namespace quern::gpu {

template struct PartitionKernels<Coding::newpfd>;

}  // namespace quern::gpu
