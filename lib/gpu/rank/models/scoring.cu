#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

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
  kernel(dynamic_shared<std::uint32_t>());
}

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

/// Copies rows of features to rows of `stride`, with zeros after the last document.
void gather_rows(const FeatureColumns& features, std::size_t begin, std::size_t end, std::size_t stride, float* to) {
  for (std::size_t row = begin; row < end; ++row) {
    float* const own = to + row * stride;
    std::memcpy(own, features.values + row * features.stride, features.documents * sizeof(float));
    std::fill(own + features.documents, own + stride, 0.0f);
  }
}

/// Whether `values` are in pinned memory, from which copies are direct.
bool is_pinned(const float* values) {
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, values));
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace

DeviceRanker::Device::Device(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, bool fast_math)
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
  loaded.fast_math = fast_math;
  const CudaStream stream;
  copy_to_device(memory.data(), all.data(), bytes, stream);
  stream.wait();
}

DeviceRanker::DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, bool fast_math)
    : device_(std::make_unique<Device>(arrays, gpu, account, fast_math)) {}
DeviceRanker::~DeviceRanker() = default;

std::uint32_t DeviceRanker::features() const { return device_->loaded.view.features; }
std::uint64_t DeviceRanker::bytes() const { return MemoryAccount::rounded(device_->memory.size_bytes()); }

void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores,
                     DeviceArray<std::uint8_t>& memory, const CudaStream& stream, ScoringClocks* clocks) {
  StreamLauncher launcher(ranker.device(), stream, clocks);
  score_documents(
      ranker.device().loaded, features, scores, [&](std::size_t bytes) { return memory.reserve(bytes); }, launcher);
}

struct RankerFlight::State {
  void copy_in(const FeatureColumns& from, std::size_t num_features, std::size_t stride);
  void clear_clocks() {
    in.clear();
    out.clear();
    for (StepClock& clock : clocks) clock.clear();
  }

  unsigned gpu;
  MemoryAccount &account, &pinned;
  PinnedArray<float> host_features{pinned, MemoryUse::pinned};
  PinnedArray<double> host_scores{pinned, MemoryUse::pinned};
  DeviceArray<float> features{account, MemoryUse::batch};
  DeviceArray<double> scores{account, MemoryUse::batch};
  DeviceArray<std::uint8_t> memory{account, MemoryUse::working};  ///< for scoring
  CudaStream stream{};
  bool measured = false;
  ScoringClocks clocks{};
  StepClock in{}, out{};
  RankerTimes times{};
};

/// Copies the features to rows of `stride`, directly if they are pinned. Otherwise gathers them in pinned memory, with
/// several threads if there are many, each of which copies its own.
void RankerFlight::State::copy_in(const FeatureColumns& from, std::size_t num_features, std::size_t stride) {
  features.reserve(num_features * stride);
  if (num_features == 0) return;
  const std::size_t row_bytes = stride * sizeof(float);
  if (row_bytes >= least_direct_row_bytes && is_pinned(from.values)) {
    CUDA_CHECK(cudaMemcpy2DAsync(features.data(), row_bytes, from.values, from.stride * sizeof(float), row_bytes,
                                 num_features, cudaMemcpyHostToDevice, stream));
    return;
  }
  host_features.reserve(num_features * stride);
  const std::size_t rows = std::max<std::size_t>(staged_item_bytes / row_bytes, 1);
  const auto copy_rows = [&](std::size_t item) {
    use_gpu(gpu);
    const std::size_t first = item * rows, end = std::min(num_features, first + rows);
    gather_rows(from, first, end, stride, host_features.data());
    copy_to_device(features.data() + first * stride, host_features.data() + first * stride, (end - first) * stride,
                   stream);
  };
  const std::size_t items = (num_features + rows - 1) / rows;
  if (items == 1) {
    copy_rows(0);
  } else {
    // This thread must not take other work meanwhile, which could use the same flight's memory.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(std::size_t{0}, items, copy_rows, tbb::simple_partitioner()); });
  }
}

RankerFlight::RankerFlight(unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned) {
  use_gpu(gpu);
  state_.reset(new State{gpu, on_gpu, pinned});
}
RankerFlight::~RankerFlight() = default;

void RankerFlight::score(const DeviceRanker& ranker, const FeatureColumns& features, std::span<double> scores) {
  State& state = *state_;
  if (features.documents == 0) return;
  use_gpu(state.gpu);
  const StreamEnd end(state.stream);
  state.clear_clocks();
  const std::size_t stride = (features.documents + tile_documents - 1) / tile_documents * tile_documents;
  const bool direct = features.documents <= max_direct_documents;
  state.host_scores.reserve(features.documents);
  if (!direct) state.scores.reserve(features.documents);
  const auto timed = [&](StepClock& clock, const auto& work) {
    if (state.measured) clock.begin(state.stream);
    work();
    if (state.measured) clock.end(state.stream);
  };
  timed(state.in, [&] { state.copy_in(features, ranker.features(), stride); });
  enqueue_scoring(ranker, {state.features.data(), features.documents, stride},
                  direct ? state.host_scores.data() : state.scores.data(), state.memory, state.stream,
                  state.measured ? &state.clocks : nullptr);
  if (!direct)
    timed(state.out,
          [&] { copy_to_host(state.host_scores.data(), state.scores.data(), features.documents, state.stream); });
  state.stream.wait();
  std::memcpy(scores.data(), state.host_scores.data(), features.documents * sizeof(double));
  const ScoringClocks& clocks = state.clocks;
  if (state.measured) state.times = {state.in.us(), clocks[0].us(), clocks[1].us(), clocks[2].us(), state.out.us()};
}

void RankerFlight::measure_times(bool wanted) { state_->measured = wanted; }
const RankerTimes& RankerFlight::times() const { return state_->times; }

}  // namespace quern::gpu
