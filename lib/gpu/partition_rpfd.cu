#include "quern/gpu/partition_kernels.cuh"

namespace quern::gpu {

template struct PartitionKernels<Coding::rpfd>;

}  // namespace quern::gpu
