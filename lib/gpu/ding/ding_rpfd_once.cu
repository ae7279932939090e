#include "quern/gpu/ding/ding_kernels.cuh"

namespace quern::gpu {

template struct DingKernels<Coding::rpfd_once>;

}  // namespace quern::gpu
