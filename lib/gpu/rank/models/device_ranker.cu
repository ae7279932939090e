#include <cstring>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/scoring.cuh"

namespace quern::gpu {
namespace {

unsigned multiprocessors_of(unsigned gpu) {
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, static_cast<int>(gpu)));
  return static_cast<unsigned>(count);
}

}  // namespace

DeviceRanker::Device::Device(const RankerArrays& arrays, unsigned on_gpu, MemoryAccount& account,
                             const DeviceRankerOptions& options)
    : gpu(on_gpu), layers(arrays.layers) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
  multiprocessors = multiprocessors_of(gpu);
  const std::uint64_t bytes = arrays.bytes();
  memory = DeviceArray<std::uint8_t>(account, MemoryUse::rankers, bytes);
  loaded.view = arrays.view;
  std::vector<std::uint8_t> all(bytes);
  std::uint64_t place = 0;
  visit_arrays(arrays, loaded.view, [&](const auto& array, auto& pointer) {
    pointer = at<std::remove_reference_t<decltype(array[0])>>(memory.data(), place);
    put(all.data(), place, array);
    place += bytes_in_row(array.size() * sizeof(array[0]));
  });
  loaded.layers = layers;
  loaded.fast_math = options.fast_math;
  const CudaStream stream;
  copy_to_device(memory.data(), all.data(), bytes, stream);
  stream.wait();
}

DeviceRanker::DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account,
                           const DeviceRankerOptions& options)
    : device_(std::make_unique<Device>(arrays, gpu, account, options)) {}
DeviceRanker::DeviceRanker(const RankerModel& model, unsigned gpu, MemoryAccount& account,
                           const DeviceRankerOptions& options)
    : DeviceRanker(make_ranker_arrays(model), gpu, account, options) {}
DeviceRanker::~DeviceRanker() = default;

std::uint32_t DeviceRanker::features() const { return device_->loaded.view.features; }
std::uint64_t DeviceRanker::bytes() const { return MemoryAccount::rounded(device_->memory.size_bytes()); }

struct PinnedFeatures::Memory {
  PinnedArray<float> values;
};

PinnedFeatures::PinnedFeatures(const FeatureColumns& features, std::size_t num_features, MemoryAccount& pinned)
    : memory_(std::make_unique<Memory>()), columns_(features) {
  const std::size_t count = num_features * features.stride;
  memory_->values = PinnedArray<float>(pinned, MemoryUse::pinned, count);
  if (count > 0) std::memcpy(memory_->values.data(), features.values, count * sizeof(float));
  columns_.values = memory_->values.data();
}

PinnedFeatures::~PinnedFeatures() = default;

}  // namespace quern::gpu
