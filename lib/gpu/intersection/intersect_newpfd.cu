#include "quern/gpu/intersection/intersect_launches.cuh"

namespace quern::gpu {

template struct IntersectLaunches<Coding::newpfd>;

}  // namespace quern::gpu
