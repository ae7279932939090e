#include <algorithm>
#include <cstring>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/rank/features/feature_run.cuh"
#include "quern/gpu/rank/features/find_hits.cuh"
#include "quern/gpu/rank/features/publish_features.cuh"

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

FeatureRun::FeatureRun(MemoryAccount& on_gpu, MemoryAccount& pinned)
    : host_in_(pinned, MemoryUse::pinned),
      host_counters_(pinned, MemoryUse::pinned, 1),
      in_(on_gpu, MemoryUse::batch),
      streams_(on_gpu, MemoryUse::working),
      heads_(on_gpu, MemoryUse::working),
      tf_(on_gpu, MemoryUse::working),
      hits_(on_gpu, MemoryUse::working),
      columns_(on_gpu, MemoryUse::working) {}

void FeatureRun::upload(const FeatureBatch& batch, const std::uint32_t* documents, const CudaStream& stream) {
  ArrayLayout layout;
  counters_at_ = layout.add<FeatureCounters>(1);
  const std::size_t queries_at = layout.add<FeatureBatchQuery>(batch.queries.size()),
                    terms_at = layout.add<FeatureTerm>(batch.terms.size()),
                    sought_at = layout.add<SoughtTerm>(batch.sought.size()),
                    texts_at = layout.add<std::uint8_t>(batch.texts.size()),
                    sequence_at = layout.add<std::uint32_t>(batch.sequence.size()),
                    bounds_at = layout.add<std::uint32_t>(batch.first_follower.size()),
                    followers_at = layout.add<std::uint32_t>(batch.followers.size()),
                    documents_at = layout.add<FeatureBatchDocument>(batch.documents.size()),
                    slots_at = layout.add<FeatureSlot>(batch.slots.size()),
                    columns_at = layout.add<std::int32_t>(batch.column_of.size()),
                    words_at = layout.add<std::uint32_t>(batch.words.size());
  host_in_.reserve(layout.bytes());
  in_.reserve(layout.bytes());
  std::uint8_t* const host = host_in_.data();
  *at<FeatureCounters>(host, counters_at_) = {};
  put(host, queries_at, batch.queries);
  put(host, terms_at, batch.terms);
  put(host, sought_at, batch.sought);
  put(host, texts_at, batch.texts);
  put(host, sequence_at, batch.sequence);
  put(host, bounds_at, batch.first_follower);
  put(host, followers_at, batch.followers);
  put(host, documents_at, batch.documents);
  put(host, slots_at, batch.slots);
  put(host, columns_at, batch.column_of);
  put(host, words_at, batch.words);
  copy_to_device(in_.data(), host, layout.bytes(), stream);

  std::uint8_t* const in = in_.data();
  view_ = batch.view();
  view_.words = batch.gathers() ? at<std::uint32_t>(in, words_at) : documents;
  view_.queries = at<FeatureBatchQuery>(in, queries_at);
  view_.terms = at<FeatureTerm>(in, terms_at);
  view_.sought = at<SoughtTerm>(in, sought_at);
  view_.texts = at<std::uint8_t>(in, texts_at);
  view_.sequence = at<std::uint32_t>(in, sequence_at);
  view_.first_follower = at<std::uint32_t>(in, bounds_at);
  view_.followers = at<std::uint32_t>(in, followers_at);
  view_.documents = at<FeatureBatchDocument>(in, documents_at);
  view_.slots = at<FeatureSlot>(in, slots_at);
  view_.column_of = at<std::int32_t>(in, columns_at);
  view_.counters = at<FeatureCounters>(in, counters_at_);
}

void FeatureRun::reserve(const FeatureBatch& batch) {
  streams_.reserve(num_document_streams * std::size_t{view_.stride});
  heads_.reserve(view_.stride);
  tf_.reserve(std::max<std::size_t>(1, batch.num_tf));
  // Unless the same batch runs again, which needs the space.
  if (!again_ && hits_.size() > max_kept_room) hits_.release();
  again_ = false;
  hits_.reserve(hits_per_document * view_.stride);
  columns_.reserve(std::max<std::size_t>(1, batch.num_columns * std::size_t{view_.stride}));
  view_.streams = streams_.data();
  view_.heads = heads_.data();
  view_.tf = tf_.data();
  view_.hits = hits_.data();
  view_.hits_room = std::min<std::uint64_t>(hits_.size(), max_hits);
  view_.columns = columns_.data();
}

void FeatureRun::enqueue(const FeatureBatch& batch, const std::uint32_t* documents, const CudaStream& stream) {
  upload(batch, documents, stream);
  reserve(batch);
  if (view_.num_documents == 0) return;
  run_find_hits<<<blocks_for(view_.num_documents, find_threads / lanes_per_warp), find_threads, 0, stream>>>(view_);
  CUDA_CHECK(cudaGetLastError());
  if (view_.num_slots != 0) {
    run_publish_features<<<blocks_for(view_.stride, publish_threads) * view_.num_slots, publish_threads, 0, stream>>>(
        view_);
    CUDA_CHECK(cudaGetLastError());
  }
  copy_to_host(host_counters_.data(), at<FeatureCounters>(in_.data(), counters_at_), 1, stream);
}

FeatureRun::Outcome FeatureRun::outcome() {
  if (view_.num_documents == 0) return Outcome::done;
  const FeatureCounters& counters = *host_counters_.data();
  if (counters.damaged != 0) return Outcome::damaged;
  if (counters.hits <= view_.hits_room) return Outcome::done;
  if (counters.hits > max_hits) throw GpuOutOfMemory("documents have more hits than a GPU can count");
  hits_.reserve(counters.hits);
  again_ = true;
  return Outcome::again;
}

}  // namespace quern::gpu
