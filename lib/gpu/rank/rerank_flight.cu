#include "quern/gpu/rank/features/find_hits.cuh"
#include "quern/gpu/rank/features/publish_features.cuh"
#include "quern/gpu/rank/models/scoring.cuh"
#include "quern/gpu/rank/rerank_flight.hpp"

namespace quern::gpu {
namespace {

constexpr unsigned publish_threads = 128;
/// Initial space for hits per document.
constexpr std::size_t hits_per_document = 64;
/// Hits are numbered in 32 bits.
constexpr std::uint64_t max_hits = 0xffffffffu;
/// Space for more hits is freed after use, since few batches need it.
constexpr std::size_t max_kept_room = std::size_t{1} << 23;

__global__ void __launch_bounds__(find_threads) run_find_hits(const __grid_constant__ FeatureBatchView batch) {
  find_hits(batch);
}

__global__ void __launch_bounds__(publish_threads)
    run_publish_features(const __grid_constant__ FeatureBatchView batch) {
  publish_features(batch);
}

unsigned blocks_for(std::size_t work, std::size_t per_block) {
  return static_cast<unsigned>((work + per_block - 1) / per_block);
}

}  // namespace

std::uint64_t DocumentWords::bytes_needed(const FeatureExtractor& extractor) {
  // A section ends with bytes that may be read after a document.
  const FeatureShard& last = extractor.shards().back();
  return MemoryAccount::rounded(last.first_byte + last.forward.section_bytes() + sizeof(std::uint32_t));
}

DocumentWords::DocumentWords(const FeatureExtractor& extractor, unsigned gpu, MemoryAccount& on_gpu,
                             MemoryAccount& pinned, Progress& progress) {
  const std::uint64_t all = bytes_needed(extractor);
  use_gpu(gpu);
  words_ = {on_gpu, MemoryUse::documents, all / sizeof(std::uint32_t)};
  auto* const to = reinterpret_cast<std::uint8_t*>(words_.data());
  progress.start("copy documents to the GPU", all, "bytes");
  // Two buffers take half of the pinned memory.
  const auto buffer_bytes =
      std::clamp<std::uint64_t>(pinned.left() / 4, std::uint64_t{64} << 10, std::uint64_t{8} << 20);
  Uploader uploader(pinned, buffer_bytes, progress);
  for (const FeatureShard& shard : extractor.shards())
    uploader.copy(to + shard.first_byte, shard.forward.section_bytes(), [&](std::uint64_t first, std::size_t size) {
      extractor.memory().note_read(size);
      return shard.forward.section_part({first, first + size}).data();
    });
  uploader.wait();
  progress.finish();
}

struct RerankFlight::State {
  /// Computes a batch's features, lets `use` enqueue work on them, and waits. False if a document is damaged.
  template <class Use>
  bool compute(const FeatureBatch& batch, const Use& use) {
    const StreamEnd end(stream);
    for (bool again = false;; again = true) {
      upload(batch);
      // Unless the same batch runs again, which needs the space.
      if (!again && hits.size() > max_kept_room) hits.release();
      enqueue(batch);
      use(FeatureColumns{columns.data(), view.num_documents, view.stride});
      stream.wait();
      if (view.num_documents == 0) return true;
      const FeatureCounters& counters = *host_counters.data();
      if (counters.damaged != 0) return false;
      if (counters.hits <= view.hits_room) return true;
      if (counters.hits > max_hits) throw GpuOutOfMemory("documents have more hits than a GPU can count");
      hits.reserve(counters.hits);
    }
  }
  void upload(const FeatureBatch& batch);
  void enqueue(const FeatureBatch& batch);

  unsigned gpu;
  const std::uint32_t* documents;  ///< the forward file's words on the GPU; null if batches gather their own
  MemoryAccount &account, &pinned;
  PinnedArray<std::uint8_t> host_in{pinned, MemoryUse::pinned};
  PinnedArray<FeatureCounters> host_counters{pinned, MemoryUse::pinned};
  DeviceArray<std::uint8_t> in{account, MemoryUse::batch};
  DeviceArray<StreamHitsView> streams{account, MemoryUse::working};
  DeviceArray<PageHead> heads{account, MemoryUse::working};
  DeviceArray<std::uint32_t> tf{account, MemoryUse::working};
  DeviceArray<WordHit> hits{account, MemoryUse::working};
  DeviceArray<float> columns{account, MemoryUse::working};
  FeatureBatchView view{};
  DeviceArray<std::uint8_t> scoring{account, MemoryUse::working};
  DeviceArray<double> scores{account, MemoryUse::batch};
  PinnedArray<double> host_scores{pinned, MemoryUse::pinned};
  PinnedArray<float> host_columns{pinned, MemoryUse::pinned};
  CudaStream stream{};
};

void RerankFlight::State::upload(const FeatureBatch& batch) {
  view = batch.view();
  const auto arrays = [&](const auto& visit) {
    visit(batch.queries, view.queries);
    visit(batch.terms, view.terms);
    visit(batch.sought, view.sought);
    visit(batch.texts, view.texts);
    visit(batch.sequence, view.sequence);
    visit(batch.first_follower, view.first_follower);
    visit(batch.followers, view.followers);
    visit(batch.documents, view.documents);
    visit(batch.slots, view.slots);
    visit(batch.column_of, view.column_of);
    visit(batch.words, view.words);
  };
  ArrayLayout layout = layout_of(arrays);
  const std::size_t counters_at = layout.add<FeatureCounters>(1);
  host_in.reserve(layout.bytes());
  in.reserve(layout.bytes());
  put_all(arrays, host_in.data(), in.data());
  *at<FeatureCounters>(host_in.data(), counters_at) = {};
  view.counters = at<FeatureCounters>(in.data(), counters_at);
  if (!batch.gathers()) view.words = documents;
  copy_to_device(in.data(), host_in.data(), layout.bytes(), stream);
}

void RerankFlight::State::enqueue(const FeatureBatch& batch) {
  view.streams = streams.reserve(num_document_streams * std::size_t{view.stride});
  view.heads = heads.reserve(view.stride);
  view.tf = tf.reserve(std::max<std::size_t>(1, batch.num_tf));
  view.hits = hits.reserve(hits_per_document * view.stride);
  view.hits_room = std::min<std::uint64_t>(hits.size(), max_hits);
  view.columns = columns.reserve(std::max<std::size_t>(1, batch.num_columns * std::size_t{view.stride}));
  if (view.num_documents == 0) return;
  launch(run_find_hits, blocks_for(view.num_documents, find_threads / lanes_per_warp), find_threads, 0, stream, view);
  if (view.num_slots != 0)
    launch(run_publish_features, blocks_for(view.stride, publish_threads) * view.num_slots, publish_threads, 0, stream,
           view);
  copy_to_host(host_counters.reserve(1), view.counters, 1, stream);
}

RerankFlight::RerankFlight(unsigned gpu, const FeatureExtractor& extractor, const DocumentWords* documents,
                           const FeatureBatchLimits& limits, MemoryAccount& on_gpu, MemoryAccount& pinned)
    : batch_(extractor, documents == nullptr, limits) {
  use_gpu(gpu);
  state_.reset(new State{gpu, documents == nullptr ? nullptr : documents->words(), on_gpu, pinned});
}
RerankFlight::~RerankFlight() = default;

bool RerankFlight::score(const DeviceRanker& ranker, std::span<double> scores) {
  State& state = *state_;
  if (scores.empty()) return true;
  use_gpu(state.gpu);  // other flights of this thread may use other GPUs
  state.scores.reserve(scores.size());
  state.host_scores.reserve(scores.size());
  const bool sound = state.compute(batch_, [&](const FeatureColumns& columns) {
    enqueue_scoring(ranker, columns, state.scores.data(), state.scoring, state.stream);
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
  use_gpu(state.gpu);
  state.host_columns.reserve(values);
  const bool sound = state.compute(batch_, [&](const FeatureColumns& columns) {
    copy_to_host(state.host_columns.data(), columns.values, values, state.stream);
  });
  if (sound) std::memcpy(matrix.column(0), state.host_columns.data(), values * sizeof(float));
  return sound;
}

}  // namespace quern::gpu
