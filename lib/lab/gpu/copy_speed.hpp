#pragma once

/// Apart from gpu_bench.hpp, which nvcc can't read.
namespace quern {

/// The bandwidth of a GPU's memory, in bytes per second: the median of several copies of 512 MiB within it, counting
/// bytes read and written. Throws CudaError if the GPU fails or has too little memory.
double measure_copy_speed(unsigned number);

}  // namespace quern
