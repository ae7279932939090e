#include "quern/gpu/kernels.cuh"

namespace quern::gpu {

template struct Kernels<Coding::rice>;

}  // namespace quern::gpu
