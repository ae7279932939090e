#include "quern/gpu/ding/ding_kernels.cuh"

namespace quern::gpu {

template struct DingKernels<Coding::rice>;

}  // namespace quern::gpu
