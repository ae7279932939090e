#include <cstring>
#include <string>

#include "quern/gpu/device/device_index_view.cuh"
#include "quern/gpu/intersection/intersect_kernels.hpp"
#include "quern/gpu/intersection/intersect_runner.hpp"
#include "quern/gpu/store/list_store_device.cuh"

namespace quern::gpu {

struct UnpackedMemory::Device {
  explicit Device(std::uint64_t max_bytes) : account(max_bytes) {}

  MemoryAccount account;
  DeviceArray<std::uint32_t> words;
};

UnpackedMemory::UnpackedMemory(const DeviceIndex& index, std::uint64_t words)
    : device_(std::make_unique<Device>(index.bytes_per_batch())) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index.gpu())));
  device_->words = DeviceArray<std::uint32_t>(device_->account, MemoryUse::working, words);
}
UnpackedMemory::UnpackedMemory(UnpackedMemory&&) noexcept = default;
UnpackedMemory& UnpackedMemory::operator=(UnpackedMemory&&) noexcept = default;
UnpackedMemory::~UnpackedMemory() = default;

struct IntersectRunner::State {
  State(const DeviceIndex& device_index, const ListStore* list_store, std::uint64_t max_bytes)
      : index(device_index),
        store(list_store),
        account(max_bytes),
        scratch(account, MemoryUse::working, device_index.device().scratch_words),
        damaged(account, MemoryUse::batch, 1),
        index_view(device_index.device().view) {
    index_view.scratch = scratch.data();
    index_view.damaged = damaged.data();
    if (store) store->device().set(index_view);
  }

  const DeviceIndex& index;
  const ListStore* store;
  MemoryAccount account;  ///< of all that follows
  Stream stream;
  Event started, uploaded, kernels_started, unpacked, with_directories, intersected, kernels_ended, download, ended;
  PinnedArray<std::uint8_t> host_in{index.pinned(), MemoryUse::pinned}, host_out{index.pinned(), MemoryUse::pinned};
  PinnedArray<std::uint32_t> host_documents{index.pinned(), MemoryUse::pinned};
  DeviceArray<std::uint8_t> in{account, MemoryUse::batch}, counters{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> results{account, MemoryUse::batch}, documents{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> scratch, damaged;  ///< see IndexView
  IndexView index_view;
  IntersectView view;
  IntersectWork work;
  std::vector<std::uint64_t> first_words;  ///< of each query's space for results
  std::uint64_t result_words = 0;
  IntersectTimes times;

  void upload(const IntersectBatch& batch);
  void reserve_results(const IntersectBatch& batch);
  void unpack();
  void intersect();
  /// Where each query's documents begin or, if results are not packed, how many there are; stored after the count of
  /// damaged blocks.
  const std::uint32_t* found() const { return at<std::uint32_t>(host_out.data(), 0) + 1; }
  std::vector<std::span<const docid_t>> take_packed();
  std::vector<std::span<const docid_t>> take_by_query();
};

IntersectRunner::IntersectRunner(const DeviceIndex& index, const ListStore* store, std::uint64_t max_bytes) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index.gpu())));
  state_ = std::make_unique<State>(index, store, max_bytes);
}
IntersectRunner::IntersectRunner(IntersectRunner&&) noexcept = default;
IntersectRunner::~IntersectRunner() = default;
const IntersectTimes& IntersectRunner::times() const { return state_->times; }
const MemoryTable& IntersectRunner::memory() const { return state_->account.most(); }
void IntersectRunner::wait_for_kernels() { state_->kernels_ended.wait(); }

void IntersectRunner::free_memory() {
  State& state = *state_;
  for (DeviceArray<std::uint8_t>* array : {&state.in, &state.counters}) array->release();
  for (DeviceArray<std::uint32_t>* array : {&state.results, &state.documents}) array->release();
  state.host_in.release();
  state.host_out.release();
  state.host_documents.release();
}

void IntersectRunner::State::upload(const IntersectBatch& batch) {
  Layout layout;
  const std::size_t lists_at = layout.add<IntersectList>(batch.lists.size()),
                    terms_at = layout.add<std::uint32_t>(batch.terms.size()),
                    queries_at = layout.add<IntersectQuery>(batch.queries.size()),
                    docids_at = layout.add<std::uint32_t>(batch.raw_docids.size()),
                    unpack_at = layout.add<UnpackTask>(batch.unpack.size());
  host_in.reserve(layout.bytes());
  in.reserve(layout.bytes());
  put(host_in.data(), lists_at, batch.lists);
  put(host_in.data(), terms_at, batch.terms);
  put(host_in.data(), queries_at, batch.queries);
  put(host_in.data(), docids_at, batch.raw_docids);
  put(host_in.data(), unpack_at, batch.unpack);
  started.record(stream);
  copy_to_device(in.data(), host_in.data(), layout.bytes(), stream);
  uploaded.record(stream);

  view = {};
  view.lists = at<IntersectList>(in.data(), lists_at);
  view.terms = at<std::uint32_t>(in.data(), terms_at);
  view.queries = at<IntersectQuery>(in.data(), queries_at);
  view.raw_docids = at<std::uint32_t>(in.data(), docids_at);
  view.unpack = at<UnpackTask>(in.data(), unpack_at);
  view.num_unpack = static_cast<std::uint32_t>(batch.unpack.size());
  view.unpack_blocks = batch.unpack_blocks;
  view.unpack_pieces = batch.unpack_pieces;
  view.unpack_entries = batch.unpack_entries;
  view.num_queries = static_cast<std::uint32_t>(batch.queries.size());
  view.coded_queries = batch.coded_queries;
  view.num_parts = batch.parts;
  view.coded_parts = batch.coded_parts;
  view.num_documents = index_view.num_documents;
  view.levels = work.levels;
}

void IntersectRunner::State::reserve_results(const IntersectBatch& batch) {
  Layout layout;
  const std::size_t next_at = layout.add<std::uint32_t>(3), counts_at = layout.add<std::uint32_t>(batch.parts),
                    offsets_at = layout.add<std::uint32_t>(batch.parts),
                    sums_at = layout.add<std::uint32_t>(pack_tiles(batch.parts)),
                    begins_at = layout.add<std::uint32_t>(batch.queries.size() + 1);
  counters.reserve(layout.bytes());
  view.next_part = at<std::uint32_t>(counters.data(), next_at);
  view.counts = at<std::uint32_t>(counters.data(), counts_at);
  view.offsets = at<std::uint32_t>(counters.data(), offsets_at);
  view.tile_sums = at<std::uint32_t>(counters.data(), sums_at);
  view.begins = at<std::uint32_t>(counters.data(), begins_at);
  fill_zero(view.next_part, 3, stream);
  fill_zero(damaged.data(), 1, stream);
  host_out.reserve((batch.queries.size() + 2) * sizeof(std::uint32_t));

  result_words = batch.result_words();
  results.reserve(result_words);
  view.results = results.data();
  if (work.transfer == ResultTransfer::packed) {
    documents.reserve(batch.max_documents());
    view.documents = documents.data();
    return;
  }
  host_documents.reserve(result_words);
  first_words.clear();
  for (const IntersectQuery& query : batch.queries) first_words.push_back(query.first_word);
}

void IntersectRunner::State::unpack() {
  if (view.num_unpack > 0) {
    clear_places(view, stream);
    with_coding(index.device().coding,
                [&]<Coding coding>() { IntersectLaunches<coding>::unpack(index_view, view, stream); });
  }
  unpacked.record(stream);
  if (view.unpack_entries > 0) write_directories(view, stream);
  with_directories.record(stream);
}

void IntersectRunner::State::intersect() {
  if (work.kernels == IntersectKernels::batched) return intersect_batched(view, stream);
  if (work.kernels == IntersectKernels::hash_segments) return intersect_hash_segments(view, stream);
  if (view.coded_parts > 0)
    with_coding(index.device().coding, [&]<Coding coding>() {
      if (work.kernels == IntersectKernels::merge_find)
        IntersectLaunches<coding>::merge_find(index_view, view, stream);
      else
        IntersectLaunches<coding>::skip(index_view, view, stream);
    });
  if (view.coded_parts < view.num_parts) probe(view, stream);
}

void IntersectRunner::start(const IntersectBatch& batch, const IntersectWork& work, const UnpackedMemory& unpacked,
                            const IntersectRunner* after) {
  State& state = *state_;
  CUDA_CHECK(cudaSetDevice(static_cast<int>(state.index.gpu())));
  state.work = work;
  state.upload(batch);
  state.reserve_results(batch);
  state.view.unpacked = unpacked.device().words.data();
  // All kernels of batches run in the order in which these were started, so that lists that an earlier batch unpacks
  // are there. What takes the place of an evicted list overwrites nothing that is read: UnpackedLists evicts a list
  // only when the host has seen the end of the kernels of all batches that use it.
  if (after) CUDA_CHECK(cudaStreamWaitEvent(state.stream, after->state_->kernels_ended.handle()));
  if (state.store) {
    state.index_view.left_free = state.store->device().moving_blocks();
    state.store->device().make_wait(state.stream);
  }
  state.kernels_started.record(state.stream);
  state.unpack();
  state.intersect();
  state.intersected.record(state.stream);
  const bool packed = work.transfer == ResultTransfer::packed;
  const bool by_query = work.kernels == IntersectKernels::batched || work.kernels == IntersectKernels::hash_segments;
  if (packed) pack(state.view, by_query, state.stream);
  state.kernels_ended.record(state.stream);
  auto* out = at<std::uint32_t>(state.host_out.data(), 0);
  copy_to_host(out, state.damaged.data(), 1, state.stream);
  // If results are not packed, each query has one part.
  copy_to_host(out + 1, packed ? state.view.begins : state.view.counts, batch.queries.size() + (packed ? 1 : 0),
               state.stream);
  state.download.record(state.stream);
  if (work.transfer == ResultTransfer::whole)
    copy_to_host(state.host_documents.data(), state.results.data(), state.result_words, state.stream);
  state.ended.record(state.stream);
}

std::vector<std::span<const docid_t>> IntersectRunner::State::take_packed() {
  const std::uint32_t all = found()[view.num_queries];
  host_documents.reserve(all);
  download.record(stream);
  copy_to_host(host_documents.data(), view.documents, all, stream);
  ended.record(stream);
  ended.wait();
  std::vector<std::span<const docid_t>> answers;
  for (std::uint32_t i = 0; i < view.num_queries; ++i)
    answers.emplace_back(host_documents.data() + found()[i], found()[i + 1] - found()[i]);
  return answers;
}

std::vector<std::span<const docid_t>> IntersectRunner::State::take_by_query() {
  std::vector<std::span<const docid_t>> answers;
  for (std::uint32_t i = 0; i < view.num_queries; ++i)
    answers.emplace_back(host_documents.data() + first_words[i], found()[i]);
  if (work.transfer == ResultTransfer::whole) return answers;
  download.record(stream);
  for (std::uint32_t i = 0; i < view.num_queries; ++i) {
    copy_to_host(host_documents.data() + first_words[i], view.results + first_words[i], found()[i], stream);
    stream.wait();  // one copy at a time: that is what this transfer measures
  }
  ended.record(stream);
  ended.wait();
  return answers;
}

void IntersectRunner::abandon() noexcept {
  if (!state_) return;
  cudaStreamSynchronize(state_->stream);
  cudaGetLastError();  // clears the error, which the next call would report again
}

std::vector<std::span<const docid_t>> IntersectRunner::wait() {
  State& state = *state_;
  CUDA_CHECK(cudaSetDevice(static_cast<int>(state.index.gpu())));
  state.ended.wait();
  if (const std::uint32_t damaged = *at<std::uint32_t>(state.host_out.data(), 0); damaged > 0)
    throw CorruptFile(
        state.index.index().name() + ": " + std::to_string(damaged) +
        " blocks do not decode on the GPU; the index is damaged: quern verify says where; build it again, "
        "or restore a copy");
  auto answers = state.work.transfer == ResultTransfer::packed ? state.take_packed() : state.take_by_query();
  state.times = {state.uploaded.us_since(state.started),          state.unpacked.us_since(state.kernels_started),
                 state.with_directories.us_since(state.unpacked), state.intersected.us_since(state.with_directories),
                 state.kernels_ended.us_since(state.intersected), state.ended.us_since(state.download)};
  return answers;
}

}  // namespace quern::gpu
