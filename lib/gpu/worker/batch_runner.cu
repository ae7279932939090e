#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <bit>

#include "quern/gpu/worker/runner_state.cuh"
#include "quern/gpu/worker/sort_keys.cuh"
#include "quern/gpu/worker/strategy_run.cuh"
#include "quern/search/document_set.hpp"

namespace quern::gpu {
namespace {

/// put() in parallel, for elements that many threads wrote: a single thread would wait for their cache lines.
template <class T>
void put_in_parallel(std::uint8_t* memory, std::size_t offset, const std::vector<T>& elements) {
  constexpr std::size_t at_once = 1024;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, elements.size(), at_once), [&](const auto& range) {
    std::copy_n(elements.data() + range.begin(), range.size(), at<T>(memory, offset) + range.begin());
  });
}

__global__ void __launch_bounds__(plain_threads)
    run_merge(const __grid_constant__ BatchView so_far, const __grid_constant__ MergedWindow window) {
  merge_window(so_far, window, blockIdx.x, dynamic_shared<RankKey>());
}

}  // namespace

void WindowedRun::prepare_windows(const QueryBatch& batch, const BatchWork& work, const CudaStream& stream) {
  const std::size_t queries = batch.queries.size();
  batch_ = &batch;
  is_first_ = true;
  results_.reserve(queries * work.k);
  num_results_.reserve(queries);
  limits_.reserve(queries);
  static_assert(no_key == ~RankKey{0}, "memset writes equal bytes");
  CUDA_CHECK(cudaMemsetAsync(limits_.data(), 0xff, queries * sizeof(RankKey), stream));
  prepare(batch, work);
}

void WindowedRun::run_window(const IndexView& index, const BatchView& view, const WindowLists& lists,
                             const BatchWork& work, const CudaStream& stream) {
  const std::uint32_t end_range = lists.window.first_range + lists.window.ranges;
  BatchView window_view = view;
  window_view.results = results_.data();
  window_view.num_results = num_results_.data();
  window_view.first_docid = static_cast<std::uint32_t>(lists.window.first_docid());
  window_view.end_docid =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(lists.window.end_docid(), index.num_documents));
  window_view.limits = limits_.data();
  find(index, window_view, *batch_, lists.lists, work, stream);

  MergedWindow merged{results_.data(), num_results_.data(), limits_.data(), nullptr, is_first_};
  if (end_range < device_.range_upper_bounds.size()) merged.next_bound = device_.range_upper_bounds.data() + end_range;
  is_first_ = false;
  launch(run_merge, view.num_queries, plain_threads, 2 * view.k * sizeof(RankKey), stream, view, merged);
}

void WindowedRun::free_memory() {
  results_.release();
  limits_.release();
  num_results_.release();
}

namespace {

struct DeviceBatchRunner final : RunnerState<BatchRunner> {
  DeviceBatchRunner(const DeviceIndex& device_index, const DeviceListStore* list_store, const Strategy& chosen,
                    const StrategyOptions& options)
      : RunnerState(device_index, list_store, device_index.bytes_per_batch()),
        strategy(chosen.make(device_index, account, options)) {}

  const EntryStore* entries = nullptr;
  CudaStream uploading;                     ///< of windows' views, concurrently with the previous window's kernels
  const CudaEvent* first_kernel = nullptr;  ///< the start of the batch's kernels: kernels_started or started
  CudaEvent kernel_ends[2];                 ///< of this batch and the previous one, which other runners may still read
  unsigned turn = 0;                        ///< of the current batch in kernel_ends
  const CudaEvent* beside = nullptr;        ///< the end of the batch that this one overlaps with; null: none
  DeviceArray<std::uint8_t> out{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> passing{account, MemoryUse::working};  ///< see BatchView::passing
  std::uint64_t passing_number = 0;                                 ///< of the set on the GPU; 0: none
  BatchView view;
  /// A window's view of the lists; two alternate.
  struct WindowViews {
    WindowViews(MemoryAccount& account, MemoryAccount& pinned)
        : host(pinned, MemoryUse::pinned), device(account, MemoryUse::batch) {}
    PinnedArray<std::uint8_t> host;
    DeviceArray<std::uint8_t> device;
    CudaEvent copied;
  };
  WindowViews window_views[2] = {{account, index.pinned()}, {account, index.pinned()}};
  WindowLists window_lists[2];  ///< kept, since allocating memory is slow
  std::unique_ptr<StrategyRun> strategy;
  bool by_windows = false;   ///< whether the batch runs in windows
  StepClock window_kernels;  ///< of all windows
  std::size_t num_results_at = 0, results_at = 0, damaged_at = 0;
  bool direct = false;                             ///< see max_direct_queries
  bool kernels_wait = false;                       ///< after the upload, for others' work
  std::uint64_t max_batch_bytes = account.left();  ///< see bytes_for_batches()
  BatchTimes batch_times;

  const BatchTimes& times() const override { return batch_times; }
  std::uint64_t bytes_for_batches() const override { return max_batch_bytes; }
  BatchCounts counts() const override { return strategy->counts(); }
  void wait_for_kernels() override { kernels_ended().wait(); }

  void use_entries(const EntryStore& store_of_entries) override {
    entries = &store_of_entries;
    const std::uint64_t entry_bytes = std::min(store_of_entries.bytes() / batches_in_flight, account.left());
    account.set_limit(account.limit() - entry_bytes);
    max_batch_bytes = account.left();
  }

  /// Sets the view's passing documents. Copies them unless the GPU has the set.
  void send_passing(const BatchWork& work) {
    view.passing = nullptr;
    if (work.passing == nullptr) return;
    if (passing_number != work.passing_number) {
      passing_number = 0;
      // Ranges are whole words, of 64 bits on the host.
      const std::size_t words = std::size_t{num_ranges(work.passing->num_documents())} * (range_documents / 32);
      passing.reserve(words);
      const std::span<const std::uint64_t> documents = work.passing->words();
      copy_to_device(reinterpret_cast<std::uint64_t*>(passing.data()), documents.data(), documents.size(), stream);
      fill_zero(passing.data() + 2 * documents.size(), words - 2 * documents.size(), stream);
      passing_number = work.passing_number;
    }
    view.passing = passing.data();
  }

  void reserve_results(std::size_t queries) {
    ArrayLayout results;
    damaged_at = results.add<std::uint32_t>(1);
    num_results_at = results.add<std::uint32_t>(queries);
    results_at = results.add<RankKey>(queries * view.k);
    host_out.reserve(results.bytes());
    if (!direct) out.reserve(results.bytes());
    std::uint8_t* memory = direct ? host_out.data() : out.data();
    *at<std::uint32_t>(host_out.data(), damaged_at) = 0;
    view.num_results = at<std::uint32_t>(memory, num_results_at);
    view.results = at<RankKey>(memory, results_at);
  }

  void upload(const QueryBatch& batch, const BatchWork& work) {
    const StrategyRun::OwnBytes own = strategy->plan(batch, work);
    const auto arrays = [&](const auto& visit) {
      visit(batch.lists, view.lists);
      visit(batch.entries_of.lists, view.entries_of);
      visit(batch.terms, view.terms);
      visit(batch.queries, view.queries);
      visit(batch.raw_docids, view.raw_docids);
      visit(batch.raw_values, view.raw_values);
    };
    ArrayLayout layout = layout_of(arrays);
    const std::size_t filled_at = layout.add<std::uint8_t>(own.filled);
    // The remaining arrays are zeros.
    const std::size_t work_at = layout.add<std::uint32_t>(1), damage_at = layout.add<std::uint32_t>(1),
                      zeroed_at = layout.add<std::uint8_t>(own.zeroed);
    const std::size_t copied = direct ? layout.bytes() : work_at;
    host_in.reserve(copied);
    in.reserve(layout.bytes());
    put_all(arrays, host_in.data(), in.data());
    strategy->fill(host_in.data() + filled_at, in.data() + filled_at, in.data() + zeroed_at);
    std::memset(host_in.data() + work_at, 0, copied - work_at);
    started.record(stream);
    copy_to_device(in.data(), host_in.data(), copied, stream);
    fill_zero(in.data() + copied, layout.bytes() - copied, stream);
    if (notes_upload()) uploaded.record(stream);

    view.entries = entries ? entries->arena() : nullptr;
    if (batch.entries_of.lists.empty()) view.entries_of = nullptr;
    view.blocks = batch.entries_of.blocks;
    view.next_work = at<std::uint32_t>(in.data(), work_at);
    view.num_lists = static_cast<std::uint32_t>(batch.lists.size());
    // Kernels of a direct batch count damaged blocks in host memory.
    index_view.damaged =
        direct ? at<std::uint32_t>(host_out.data(), damaged_at) : at<std::uint32_t>(in.data(), damage_at);
  }

  const CudaEvent& kernels_ended() const { return kernel_ends[turn]; }
  /// A direct batch's results are complete when its kernels have ended.
  const CudaEvent& all_ended() const { return direct ? kernels_ended() : ended; }

  void download() {
    // Other runners may still read the previous batch's end. A batch that lacks memory never gets here.
    turn = 1 - turn;
    if (!direct) {
      CUDA_CHECK(cudaMemcpyAsync(out.data() + damaged_at, index_view.damaged, sizeof(std::uint32_t),
                                 cudaMemcpyDeviceToDevice, stream));
      kernels_ended().record(stream);
      copy_to_host(host_out.data(), out.data(), results_at + std::size_t{view.num_queries} * view.k * sizeof(RankKey),
                   stream);
      ended.record(stream);
    } else {
      kernels_ended().record(stream);
    }
  }

  /// An event takes as long as a small step of a direct batch, so its upload counts as a part of the first kernel
  /// unless that has to wait.
  bool notes_upload() const { return !direct || kernels_wait; }
  void note_start() {
    first_kernel = notes_upload() ? &kernels_started : &started;
    if (notes_upload()) kernels_started.record(stream);
  }

  /// `waits`: whether kernels wait after the upload.
  void begin(const QueryBatch& batch, const BatchWork& work, bool waits) {
    use_gpu();
    kernels_wait = waits;
    direct = batch.queries.size() <= max_direct_queries;
    beside = nullptr;
    index_view.left_free = store ? store->device().moving_blocks() : 0;
    view = {};
    view.num_queries = static_cast<std::uint32_t>(batch.queries.size());
    view.k = static_cast<std::uint32_t>(work.k);
    send_passing(work);
    reserve_results(batch.queries.size());
    upload(batch, work);
  }

  void begin_windows(const QueryBatch& batch, const BatchWork& work) override {
    begin(batch, work, true);
    by_windows = true;
    window_kernels.clear();
    ArrayLayout layout;
    layout.add<ListView>(batch.lists.size());
    layout.add<EntryPlace>(batch.lists.size());
    for (WindowViews& views : window_views) {
      views.host.reserve(layout.bytes());
      views.device.reserve(layout.bytes());
    }
    strategy->prepare_windows(batch, work, stream);
  }

  /// Window views are free after `free`, the end of the window before the last.
  void upload_views(const WindowLists& lists, WindowViews& views, const CudaEvent& free) {
    views.copied.wait();
    ArrayLayout layout;
    const std::size_t lists_at = layout.add<ListView>(lists.lists.size()),
                      entries_at = layout.add<EntryPlace>(lists.lists.size());
    put_in_parallel(views.host.data(), lists_at, lists.lists);
    put_in_parallel(views.host.data(), entries_at, lists.entries_of.lists);
    CUDA_CHECK(cudaStreamWaitEvent(uploading, free.handle()));
    copy_to_device(views.device.data(), views.host.data(), layout.bytes(), uploading);
    views.copied.record(uploading);
    make_wait(views.copied);
    view.lists = at<ListView>(views.device.data(), lists_at);
    view.entries_of = at<EntryPlace>(views.device.data(), entries_at);
    view.blocks = lists.entries_of.blocks;
    fill_zero(view.next_work, 1, stream);
  }

  void run_window(const BatchWork& work, const WindowLists& lists, DeviceListStore::Device& device,
                  DeviceListStore::Device::Half& half, WindowViews& views) {
    device.copy_window(lists.copies, lists.words, half);
    upload_views(lists, views, half.done);
    make_wait(half.copied);
    window_kernels.begin(stream);
    strategy->run_window(index_view, view, lists, work, stream);
    window_kernels.end(stream);
    half.done.record(stream);
  }

  void run_windows(const BatchWork& work, const DocumentWindows& windows, DeviceListStore& list_store, unsigned flight,
                   std::uint64_t first_entry, const BatchRunner* after) override {
    use_gpu();
    if (after) make_wait(kernels_of(*after));
    note_start();
    DeviceListStore::Device& device = list_store.device();
    run_in_turn(
        device, flight, windows.size(),
        [&](std::size_t window, unsigned slot, std::uint64_t first_word) {
          windows.view(window, first_word, first_entry, window_lists[slot]);
        },
        [&](unsigned slot, DeviceListStore::Device::Half& half) {
          run_window(work, window_lists[slot], device, half, window_views[slot]);
        });
    device.make_wait(stream);  // so that the copies' times are known when the batch has ended
    window_kernels.begin(stream);
    strategy->finish_windows(index_view, view, stream);
    window_kernels.end(stream);
    download();
  }

  void start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after, bool overlaps) override {
    begin(batch, work, store != nullptr || (after != nullptr && !overlaps));
    by_windows = false;
    strategy->prepare(batch, work);
    if (after && overlaps)
      beside = &kernels_of(*after);
    else if (after)
      make_wait(kernels_of(*after));
    if (store) store->device().make_wait(stream);
    note_start();
    strategy->run(index_view, view, batch, work, stream);
    download();
  }

  static const CudaEvent& kernels_of(const BatchRunner& other) {
    return static_cast<const DeviceBatchRunner&>(other).kernels_ended();
  }

  /// Removes the time of overlap with the previous batch from this batch's times.
  void count_once() {
    const double all_us = batch_times.kernels_us();
    if (beside == nullptr || all_us <= 0) return;
    beside->wait();
    const double left = std::clamp(kernels_ended().us_since(*beside), 0.0, all_us) / all_us;
    for (const auto step : {&BatchTimes::decode_us, &BatchTimes::unite_us, &BatchTimes::finish_us})
      batch_times.*step *= left;
  }

  void free_memory() override {
    RunnerState::free_memory();
    out.release();
    for (WindowViews& views : window_views) {
      views.host.release();
      views.device.release();
    }
    passing.release();
    passing_number = 0;
    strategy->free_memory();
  }

  void wait() override {
    all_ended().wait();
    batch_times = {};
    if (notes_upload()) batch_times.upload_us = uploaded.us_since(started);
    if (by_windows)
      batch_times.unite_us = window_kernels.us();
    else
      strategy->add_times(*first_kernel, kernels_ended(), batch_times);
    count_once();
    if (!direct) batch_times.download_us = ended.us_since(kernels_ended());
    batch_times.total_us = all_ended().us_since(started);
    check_damage(*at<std::uint32_t>(host_out.data(), damaged_at));
  }

  BatchAnswer answer(std::uint32_t place) const override {
    std::uint8_t* memory = host_out.data();
    const std::uint32_t found = at<std::uint32_t>(memory, num_results_at)[place];
    const RankKey* results = at<RankKey>(memory, results_at) + std::size_t{place} * view.k;
    BatchAnswer answer;
    if (found == run_again) {
      answer.complete = false;
      answer.min_units = static_cast<std::uint32_t>(results[0] >> 32);
      return answer;
    }
    answer.documents.reserve(found);
    for (std::uint32_t i = 0; i < found; ++i)
      answer.documents.push_back(
          {static_cast<docid_t>(results[i]), std::bit_cast<float>(~static_cast<std::uint32_t>(results[i] >> 32))});
    return answer;
  }
};

}  // namespace

std::unique_ptr<BatchRunner> make_batch_runner(const DeviceIndex& index, const DeviceListStore* store,
                                               const Strategy& strategy, const StrategyOptions& options) {
  use_gpu(index.gpu());
  return std::make_unique<DeviceBatchRunner>(index, store, strategy, options);
}

}  // namespace quern::gpu
