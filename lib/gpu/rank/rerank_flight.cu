#include <algorithm>
#include <cstring>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/features/feature_run.cuh"
#include "quern/gpu/rank/models/scoring.cuh"
#include "quern/gpu/rank/rerank_flight.hpp"

namespace quern::gpu {

struct RerankFlight::State {
  State(unsigned on_gpu, const DocumentWords* words, MemoryAccount& account, MemoryAccount& pinned)
      : gpu((CUDA_CHECK(cudaSetDevice(static_cast<int>(on_gpu))), on_gpu)),
        documents(words == nullptr ? nullptr : words->words()),
        run(account, pinned),
        memory(account),
        scores(account, MemoryUse::batch),
        host_scores(pinned, MemoryUse::pinned),
        host_columns(pinned, MemoryUse::pinned) {}

  /// Call it before allocating memory, since other threads may use other GPUs.
  void choose_gpu() const { CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu))); }

  /// Enqueues a batch's features and the work of `use` on them, and waits. Repeats if hits needed more memory.
  template <class Use>
  bool compute(const FeatureBatch& batch, const Use& use) {
    const StreamEnd end(stream);
    FeatureRun::Outcome outcome = FeatureRun::Outcome::again;
    while (outcome == FeatureRun::Outcome::again) {
      run.enqueue(batch, documents, stream);
      use(run.columns());
      stream.wait();
      outcome = run.outcome();
    }
    return outcome == FeatureRun::Outcome::done;
  }

  unsigned gpu;
  const std::uint32_t* documents;
  FeatureRun run;
  ScoringMemory memory;
  DeviceArray<double> scores;
  PinnedArray<double> host_scores;
  PinnedArray<float> host_columns;
  CudaStream stream;
};

RerankFlight::RerankFlight(unsigned gpu, const FeatureExtractor& extractor, const DocumentWords* documents,
                           const FeatureBatchLimits& limits, MemoryAccount& on_gpu, MemoryAccount& pinned)
    : batch_(extractor, documents == nullptr, limits),
      state_(std::make_unique<State>(gpu, documents, on_gpu, pinned)) {}
RerankFlight::~RerankFlight() = default;

bool RerankFlight::score(const DeviceRanker& ranker, std::span<double> scores) {
  State& state = *state_;
  if (scores.empty()) return true;
  state.choose_gpu();
  state.scores.reserve(scores.size());
  state.host_scores.reserve(scores.size());
  const bool sound = state.compute(batch_, [&](const FeatureColumns& columns) {
    enqueue_scoring(ranker, columns, state.scores.data(), state.memory, state.stream);
    copy_to_host(state.host_scores.data(), state.scores.data(), scores.size(), state.stream);
  });
  if (sound) std::memcpy(scores.data(), state.host_scores.data(), scores.size_bytes());
  return sound;
}

bool RerankFlight::features(FeatureMatrix& matrix) {
  State& state = *state_;
  matrix.resize(batch_.num_columns, batch_.documents.size());
  const std::size_t values = batch_.num_columns * matrix.columns().stride;
  if (values == 0) return true;
  state.choose_gpu();
  state.host_columns.reserve(values);
  const bool sound = state.compute(batch_, [&](const FeatureColumns& columns) {
    copy_to_host(state.host_columns.data(), columns.values, values, state.stream);
  });
  if (sound) std::memcpy(matrix.column(0), state.host_columns.data(), values * sizeof(float));
  return sound;
}

}  // namespace quern::gpu
