#include "quern/gpu/ding/ding_kernels.cuh"

namespace quern::gpu {

template struct DingKernels<Coding::rpfd>;

}  // namespace quern::gpu
