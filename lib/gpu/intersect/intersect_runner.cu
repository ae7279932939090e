#include "quern/gpu/intersect/intersect_kernels.hpp"
#include "quern/gpu/intersect/intersect_runner.hpp"
#include "quern/gpu/worker/runner_state.cuh"

namespace quern::gpu {

namespace {

struct DeviceIntersectRunner final : RunnerState<IntersectRunner> {
  DeviceIntersectRunner(const DeviceIndex& device_index, const DeviceListStore* list_store, std::uint64_t max_bytes)
      : RunnerState(device_index, list_store, max_bytes), damaged(account, MemoryUse::batch, 1) {
    index_view.damaged = damaged.data();
  }

  CudaEvent unpacked, with_directories, intersected, kernels_ended, download;
  PinnedArray<std::uint32_t> host_documents{index.pinned(), MemoryUse::pinned};
  DeviceArray<std::uint8_t> counters{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> results{account, MemoryUse::batch}, documents{account, MemoryUse::batch},
      serial{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> damaged;  ///< see IndexView
  IntersectView view;
  IntersectWork work;
  std::vector<std::uint64_t> first_words;  ///< of each query's space for results
  std::uint64_t result_words = 0;
  IntersectTimes batch_times;
  WindowedAnswers so_far;                  ///< of all windows before the last started one
  IntersectTimes windows_times;            ///< of these
  std::vector<std::uint32_t> last_places;  ///< of the last started window; empty without queries

  const IntersectTimes& times() const override { return batch_times; }
  void wait_for_kernels() override { kernels_ended.wait(); }

  void free_memory() override {
    RunnerState::free_memory();
    counters.release();
    results.release();
    documents.release();
    serial.release();
    host_documents.release();
  }

  /// Where each query's documents begin or, if not packed, their number. After the count of damaged blocks.
  const std::uint32_t* found() const { return at<std::uint32_t>(host_out.data(), 0) + 1; }

  void upload(const IntersectArrays& batch) {
    view = {};
    const auto arrays = [&](const auto& visit) {
      visit(batch.lists, view.lists);
      visit(batch.terms, view.terms);
      visit(batch.queries, view.queries);
      visit(batch.raw_docids, view.raw_docids);
      visit(batch.unpack, view.unpack);
    };
    const std::size_t bytes = layout_of(arrays).bytes();
    host_in.reserve(bytes);
    in.reserve(bytes);
    put_all(arrays, host_in.data(), in.data());
    started.record(stream);
    copy_to_device(in.data(), host_in.data(), bytes, stream);
    uploaded.record(stream);

    static_cast<IntersectSizes&>(view) = batch;
    view.num_unpack = static_cast<std::uint32_t>(batch.unpack.size());
    view.num_queries = static_cast<std::uint32_t>(batch.queries.size());
    view.num_documents = index_view.num_documents;
    view.end_docid = std::min(batch.end_docid, index_view.num_documents);
    view.levels = work.levels;
  }

  void reserve_results(const IntersectArrays& batch) {
    ArrayLayout layout;
    const std::size_t next_at = layout.add<std::uint32_t>(3), counts_at = layout.add<std::uint32_t>(batch.items),
                      offsets_at = layout.add<std::uint32_t>(batch.items),
                      sums_at = layout.add<std::uint32_t>(pack_tiles(batch.items)),
                      begins_at = layout.add<std::uint32_t>(batch.queries.size() + 1);
    counters.reserve(layout.bytes());
    view.next_item = at<std::uint32_t>(counters.data(), next_at);
    view.counts = at<std::uint32_t>(counters.data(), counts_at);
    view.offsets = at<std::uint32_t>(counters.data(), offsets_at);
    view.tile_sums = at<std::uint32_t>(counters.data(), sums_at);
    view.begins = at<std::uint32_t>(counters.data(), begins_at);
    fill_zero(view.next_item, 3, stream);
    fill_zero(damaged.data(), 1, stream);
    host_out.reserve((batch.queries.size() + 2) * sizeof(std::uint32_t));

    result_words = batch.result_words;
    view.results = results.reserve(result_words);
    if (work.transfer == ResultTransfer::packed) {
      view.documents = documents.reserve(batch.max_documents);
      return;
    }
    host_documents.reserve(result_words);
    first_words.clear();
    for (const IntersectQuery& query : batch.queries) first_words.push_back(query.first_word);
  }

  void unpack() {
    if (view.num_unpack > 0) {
      clear_places(view, stream);
      with_coding(index.device().coding,
                  [&]<Coding coding>() { IntersectLaunches<coding>::unpack(index_view, view, stream); });
    }
    unpacked.record(stream);
    if (view.unpack_entries > 0) write_directories(view, stream);
    with_directories.record(stream);
  }

  void intersect(const IntersectArrays& batch) {
    if (work.kernels == IntersectKernels::batched) return intersect_batched(view, stream);
    if (work.kernels == IntersectKernels::hash_segments) return intersect_hash_segments(view, stream);
    if (work.kernels == IntersectKernels::serial)
      return intersect_serially(batch, view, serial.reserve(serial_words(batch)), stream);
    if (view.coded_items > 0)
      with_coding(index.device().coding, [&]<Coding coding>() {
        if (work.kernels == IntersectKernels::merge_find)
          IntersectLaunches<coding>::merge_find(index_view, view, stream);
        else
          IntersectLaunches<coding>::skip(index_view, view, stream);
      });
    if (view.coded_items < view.items) probe(view, stream);
  }

  /// See start(). `lists_copied`: follows the copies of the batch's lists; null: there are none.
  void enqueue(const IntersectArrays& batch, std::uint32_t* unpacked_words, const IntersectRunner* after,
               const CudaEvent* lists_copied) {
    upload(batch);
    reserve_results(batch);
    view.unpacked = unpacked_words;
    // Batches' kernels run in the order of starting, so lists that an earlier batch unpacks are complete. UnpackedLists
    // evicts a list only after the kernels of all batches that use it have ended.
    if (after) make_wait(static_cast<const DeviceIntersectRunner&>(*after).kernels_ended);
    if (store) index_view.left_free = store->device().moving_blocks();
    if (lists_copied) make_wait(*lists_copied);
    kernels_started.record(stream);
    unpack();
    intersect(batch);
    intersected.record(stream);
    const bool packed = work.transfer == ResultTransfer::packed;
    const bool by_query = work.kernels >= IntersectKernels::hash_segments;
    if (packed) pack(view, by_query, stream);
    kernels_ended.record(stream);
    auto* out = at<std::uint32_t>(host_out.data(), 0);
    copy_to_host(out, damaged.data(), 1, stream);
    // If results are not packed, each query has one item.
    copy_to_host(out + 1, packed ? view.begins : view.counts, batch.queries.size() + (packed ? 1 : 0), stream);
    download.record(stream);
    if (work.transfer == ResultTransfer::whole)
      copy_to_host(host_documents.data(), results.data(), result_words, stream);
    ended.record(stream);
  }

  void start(const IntersectArrays& batch, const IntersectWork& how, std::uint32_t* unpacked_words,
             const IntersectRunner* after) override {
    use_gpu();
    work = how;
    enqueue(batch, unpacked_words, after, store ? &store->device().all_copied : nullptr);
  }

  /// Waits for the last started window, if any, and adds its results.
  void take_window() {
    if (last_places.empty()) return;
    const std::vector<std::span<const docid_t>> answers = wait();
    for (std::size_t i = 0; i < last_places.size(); ++i) {
      if (last_places[i] == IntersectArrays::not_there) continue;
      const std::span<const docid_t> more = answers[last_places[i]];
      std::vector<docid_t>& all = so_far.documents[i];
      all.insert(all.end(), more.begin(), more.end());
    }
    windows_times += batch_times;
    last_places.clear();
  }

  /// Copies a window's words to their half, takes the previous window's results, and starts this window.
  void run_window(const IntersectWindow& window, DeviceListStore::Device& device, DeviceListStore::Device::Half& half,
                  std::uint32_t* unpacked_words, const IntersectRunner* after) {
    // Without queries, nothing is copied: the half's previous user may still read it.
    if (window.arrays.queries.empty()) return;
    device.copy_window(window.lists.copies, window.lists.words, half);
    take_window();  // while the words are copied
    enqueue(window.arrays, unpacked_words, after, &half.copied);
    half.done.record(stream);
    last_places = window.arrays.places;
    so_far.unpacked.add(window.arrays);
  }

  void run_windows(const WindowedBatch& batch, const IntersectWork& how, std::uint32_t* unpacked_words,
                   DeviceListStore& list_store, unsigned flight, const IntersectRunner* after) override {
    use_gpu();
    work = how;
    so_far = {};
    windows_times = {};
    so_far.documents.resize(batch.batch().size());
    last_places.clear();
    DeviceListStore::Device& device = list_store.device();
    std::array<IntersectWindow, 2> made;
    run_in_turn(
        device, flight, batch.size(),
        [&](std::size_t window, unsigned slot, std::uint64_t first_word) {
          batch.make(window, first_word, made[slot]);
        },
        [&](unsigned slot, DeviceListStore::Device::Half& half) {
          run_window(made[slot], device, half, unpacked_words, after);
        });
    device.make_wait(stream);  // so that the copies' times are known when the batch has ended
  }

  WindowedAnswers wait_for_windows() override {
    use_gpu();
    take_window();
    stream.wait();
    batch_times = windows_times;
    return std::exchange(so_far, {});
  }

  std::vector<std::span<const docid_t>> take_packed() {
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

  std::vector<std::span<const docid_t>> take_by_query() {
    std::vector<std::span<const docid_t>> answers;
    for (std::uint32_t i = 0; i < view.num_queries; ++i)
      answers.emplace_back(host_documents.data() + first_words[i], found()[i]);
    if (work.transfer == ResultTransfer::whole) return answers;
    download.record(stream);
    for (std::uint32_t i = 0; i < view.num_queries; ++i) {
      copy_to_host(host_documents.data() + first_words[i], view.results + first_words[i], found()[i], stream);
      stream.wait();  // this transfer measures one copy at a time
    }
    ended.record(stream);
    ended.wait();
    return answers;
  }

  std::vector<std::span<const docid_t>> wait() override {
    use_gpu();
    ended.wait();
    check_damage(*at<std::uint32_t>(host_out.data(), 0));
    auto answers = work.transfer == ResultTransfer::packed ? take_packed() : take_by_query();
    batch_times = {uploaded.us_since(started),          unpacked.us_since(kernels_started),
                   with_directories.us_since(unpacked), intersected.us_since(with_directories),
                   kernels_ended.us_since(intersected), ended.us_since(download)};
    return answers;
  }
};

}  // namespace

std::unique_ptr<IntersectRunner> make_intersect_runner(const DeviceIndex& index, const DeviceListStore* store,
                                                       std::uint64_t max_bytes) {
  use_gpu(index.gpu());
  return std::make_unique<DeviceIntersectRunner>(index, store, max_bytes);
}

}  // namespace quern::gpu
