#pragma once

namespace quern {

/// How fast the memory of the GPU of that number is: bytes a second of a copy within it, read and written bytes both
/// counted; the median of some copies of 512 MiB. Throws CudaError where the GPU fails or has not so much memory.
double measure_copy_speed(unsigned number);

}  // namespace quern
