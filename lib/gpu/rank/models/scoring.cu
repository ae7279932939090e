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
    run_scoring<<<blocks, Kernel::threads, shared_bytes, stream_>>>(kernel);
    CUDA_CHECK(cudaGetLastError());
  }

  void begin(ScoringStage stage) const {
    if (clocks_ != nullptr) clock_of(stage).begin(stream_);
  }
  void end(ScoringStage stage) const {
    if (clocks_ != nullptr) clock_of(stage).end(stream_);
  }

 private:
  StepClock& clock_of(ScoringStage stage) const {
    switch (stage) {
      case ScoringStage::inputs:
        return clocks_->inputs;
      case ScoringStage::trees:
        return clocks_->trees;
      default:
        return clocks_->layers;
    }
  }

  unsigned multiprocessors_;
  const CudaStream& stream_;
  ScoringClocks* clocks_;
};

}  // namespace

void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores, ScoringMemory& memory,
                     const CudaStream& stream, ScoringClocks* clocks) {
  StreamLauncher launcher(ranker.device(), stream, clocks);
  score_documents(
      ranker.device().loaded, features, scores, [&](std::size_t bytes) { return memory.get(bytes); }, launcher);
}

}  // namespace quern::gpu
