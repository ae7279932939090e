#include <algorithm>
#include <vector>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/lab/gpu/copy_speed.hpp"

namespace quern {

double measure_copy_speed(unsigned number) {
  constexpr std::size_t bytes = std::size_t{512} << 20;
  constexpr unsigned copies = 9;
  CUDA_CHECK(cudaSetDevice(static_cast<int>(number)));
  const gpu::DeviceArray<unsigned char> from(bytes), to(bytes);
  const gpu::CudaStream stream;
  const gpu::CudaEvent begin, end;
  std::vector<double> times_us;
  gpu::fill_zero(from.data(), bytes, stream);
  for (unsigned i = 0; i < copies; ++i) {
    begin.record(stream);
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    end.record(stream);
    end.wait();
    times_us.push_back(end.us_since(begin));
  }
  std::nth_element(times_us.begin(), times_us.begin() + copies / 2, times_us.end());
  return 2e6 * bytes / times_us[copies / 2];
}

}  // namespace quern
