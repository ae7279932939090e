#include "quern/gpu/range/kernels.cuh"

namespace quern::gpu {

template struct Kernels<Coding::rpfd>;

}  // namespace quern::gpu
