#include "quern/gpu/rank/models/scoring.cuh"

namespace quern::gpu {
namespace {

/// Minimum thread blocks per multiprocessor, which limits registers.
template <class Kernel>
constexpr unsigned least_blocks() {
  if constexpr (requires { Kernel::least_blocks; }) return Kernel::least_blocks;
  return 1;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, least_blocks<Kernel>())
    run_scoring(const __grid_constant__ Kernel kernel) {
  extern __shared__ __align__(16) unsigned char shared[];
  kernel(reinterpret_cast<std::uint32_t*>(shared));
}

/// Launches kernels in a stream.
class StreamLauncher {
 public:
  StreamLauncher(const DeviceRanker::Device& device, const CudaStream& stream, ScoringClocks* clocks)
      : multiprocessors_(device.multiprocessors), stream_(stream), clocks_(clocks) {}

  unsigned multiprocessors() const { return multiprocessors_; }

  template <class Kernel>
  void launch(const Kernel& kernel, unsigned blocks, std::size_t shared_bytes) const {
    gpu::launch(run_scoring<Kernel>, blocks, Kernel::threads, shared_bytes, stream_, kernel);
  }

  void begin(ScoringStage stage) const {
    if (clocks_ != nullptr) (*clocks_)[static_cast<std::size_t>(stage)].begin(stream_);
  }
  void end(ScoringStage stage) const {
    if (clocks_ != nullptr) (*clocks_)[static_cast<std::size_t>(stage)].end(stream_);
  }

 private:
  unsigned multiprocessors_;
  const CudaStream& stream_;
  ScoringClocks* clocks_;
};

}  // namespace

DeviceRanker::Device::Device(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account,
                             const DeviceRankerOptions& options)
    : layers(arrays.layers) {
  use_gpu(gpu);
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, static_cast<int>(gpu)));
  multiprocessors = static_cast<unsigned>(count);
  const std::uint64_t bytes = arrays.bytes();
  memory = DeviceArray<std::uint8_t>(account, MemoryUse::rankers, bytes);
  loaded.view = arrays.view;
  std::vector<std::uint8_t> all(bytes);
  put_all([&](const auto& visit) { visit_arrays(arrays, loaded.view, visit); }, all.data(), memory.data());
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

void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores,
                     DeviceArray<std::uint8_t>& memory, const CudaStream& stream, ScoringClocks* clocks) {
  StreamLauncher launcher(ranker.device(), stream, clocks);
  score_documents(
      ranker.device().loaded, features, scores, [&](std::size_t bytes) { return memory.reserve(bytes); }, launcher);
}

}  // namespace quern::gpu
