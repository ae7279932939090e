#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/store/list_store_device.cuh"
#include "quern/lab/gpu/transfer_bench.hpp"

namespace quern {

TransferTime measure_pinned_copy(unsigned gpu, std::uint64_t bytes, unsigned repeats) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
  const gpu::PinnedArray<unsigned char> from(bytes);
  const gpu::DeviceArray<unsigned char> to(bytes);
  const gpu::CudaStream stream;
  return time_copies(
      bytes, repeats, [&] { gpu::copy_to_device(to.data(), from.data(), bytes, stream); }, [&] { stream.wait(); },
      [] {});
}

double measure_copy_speed(unsigned number) {
  constexpr std::size_t bytes = std::size_t{512} << 20;
  constexpr unsigned copies = 9;
  CUDA_CHECK(cudaSetDevice(static_cast<int>(number)));
  const gpu::DeviceArray<unsigned char> from(bytes), to(bytes);
  const gpu::CudaStream stream;
  std::vector<double> times_us;
  gpu::fill_zero(from.data(), bytes, stream);
  for (unsigned i = 0; i < copies; ++i)
    times_us.push_back(gpu::time_us(
        stream, [&] { CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream)); }));
  return 2e6 * bytes / median(std::move(times_us));
}

namespace gpu {

void wait_for_copies(DeviceListStore& store) { store.device().mover->stream().wait(); }

void copy_windows(DeviceListStore& store, std::span<const std::vector<WordCopy>> windows) {
  DeviceListStore::Device& device = store.device();
  for (const std::vector<WordCopy>& window : windows)
    device.copy_window(window, window.back().to + window.back().from.size(), device.take_half());
}

}  // namespace gpu

}  // namespace quern
