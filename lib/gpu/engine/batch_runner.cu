#include <algorithm>
#include <bit>
#include <cstring>

#include "quern/gpu/common/strategy_run.cuh"
#include "quern/gpu/common/tuning.hpp"
#include "quern/gpu/device/batch_layout.hpp"
#include "quern/gpu/device/device_index_view.cuh"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/range/kernels.hpp"
#include "quern/gpu/range/threshold.cuh"

namespace quern::gpu {

struct BatchRunner::State {
  explicit State(const DeviceIndex& of) : index(of), scratch(of.device().scratch_words), index_view(of.device().view) {
    index_view.scratch = scratch.data();
  }

  const DeviceIndex& index;
  Stream stream;
  Event begun, uploaded, began, decoded, united, ran, ended;
  PinnedArray<std::uint8_t> host_in, host_out;
  DeviceArray<std::uint8_t> in, found, out;
  DeviceArray<std::uint32_t> entries, starts, range_max;
  DeviceArray<std::uint32_t> scratch;  ///< of IndexView
  IndexView index_view;
  std::unique_ptr<StrategyRun> strategy;  ///< null: what this class does itself
  std::size_t num_results_at = 0, results_at = 0, damaged_at = 0;
  std::uint32_t num_queries = 0, k = 0;
  bool direct = false;   ///< see max_direct_queries
  bool decodes = false;  ///< lists to entries
  BatchTimes times;
  BatchCounts counts;

  void upload(BatchView& view, const QueryBatch& batch);
  void make_room(BatchView& view, const QueryBatch& batch);
  void make_entry_room(BatchView& view, const QueryBatch& batch, bool with_max);
  void count(const QueryBatch& batch, const BatchWork& work);
  /// What the strategy `range` does.
  void run_ranges(const BatchView& view, const BatchWork& work);
  void download();
};

BatchRunner::BatchRunner(const DeviceIndex& index, const Strategy& strategy, const StrategyOptions& options) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index.gpu())));
  state_ = std::make_unique<State>(index);
  if (strategy.make) state_->strategy = strategy.make(index, options);
}
BatchRunner::BatchRunner(BatchRunner&&) noexcept = default;
BatchRunner::~BatchRunner() = default;
const BatchTimes& BatchRunner::times() const { return state_->times; }
const BatchCounts& BatchRunner::counts() const { return state_->counts; }

void BatchRunner::State::upload(BatchView& view, const QueryBatch& batch) {
  Layout layout;
  const std::size_t queries = batch.queries.size();
  const std::size_t lists_at = layout.add<ListView>(batch.lists.size()),
                    terms_at = layout.add<BatchTerm>(batch.terms.size()), queries_at = layout.add<BatchQuery>(queries),
                    chunks_at = layout.add<BatchChunk>(batch.chunks.size()),
                    docids_at = layout.add<std::uint32_t>(batch.raw_docids.size()),
                    values_at = layout.add<std::uint32_t>(batch.raw_values.size()),
                    thresholds_at = layout.add<ThresholdKey>(queries);
  // From here on zeros.
  const std::size_t steps_at = layout.add<std::uint32_t>(queries * threshold_steps),
                    max_at = layout.add<std::uint32_t>(queries), num_at = layout.add<std::uint32_t>(queries),
                    work_at = layout.add<std::uint32_t>(1), damage_at = layout.add<std::uint32_t>(1);
  const std::size_t copied = direct ? layout.bytes() : steps_at;
  host_in.reserve(copied);
  in.reserve(layout.bytes());
  put(host_in.data(), lists_at, batch.lists);
  put(host_in.data(), terms_at, batch.terms);
  put(host_in.data(), queries_at, batch.queries);
  put(host_in.data(), chunks_at, batch.chunks);
  put(host_in.data(), docids_at, batch.raw_docids);
  put(host_in.data(), values_at, batch.raw_values);
  auto* thresholds = at<ThresholdKey>(host_in.data(), thresholds_at);
  for (std::size_t i = 0; i < queries; ++i)
    thresholds[i] = ThresholdKey{batch.queries[i].min_units} << 32;  // docid: none
  std::memset(host_in.data() + steps_at, 0, copied - steps_at);
  begun.record(stream);
  copy_to_device(in.data(), host_in.data(), copied, stream);
  fill_zero(in.data() + copied, layout.bytes() - copied, stream);
  uploaded.record(stream);

  view.lists = at<ListView>(in.data(), lists_at);
  view.terms = at<BatchTerm>(in.data(), terms_at);
  view.queries = at<BatchQuery>(in.data(), queries_at);
  view.chunks = at<BatchChunk>(in.data(), chunks_at);
  view.raw_docids = at<std::uint32_t>(in.data(), docids_at);
  view.raw_values = at<std::uint32_t>(in.data(), values_at);
  view.thresholds = at<ThresholdKey>(in.data(), thresholds_at);
  view.steps = at<std::uint32_t>(in.data(), steps_at);
  view.max_docid = at<std::uint32_t>(in.data(), max_at);
  view.num_candidates = at<std::uint32_t>(in.data(), num_at);
  view.next_work = at<std::uint32_t>(in.data(), work_at);
  // Of a few queries whoever finds damage counts it in the host's memory.
  index_view.damaged =
      direct ? at<std::uint32_t>(host_out.data(), damaged_at) : at<std::uint32_t>(in.data(), damage_at);
  view.num_lists = static_cast<std::uint32_t>(batch.lists.size());
  view.num_queries = num_queries;
  view.num_chunks = static_cast<std::uint32_t>(batch.chunks.size());
  view.tasks = batch.tasks;
}

void BatchRunner::State::make_room(BatchView& view, const QueryBatch& batch) {
  const std::size_t queries = batch.queries.size();
  const DeviceIndex::Device& device = index.device();
  view.static_scores = device.static_scores.data();
  view.range_static_score = device.range_static_score.data();
  view.range_upper_bounds = device.range_upper_bounds.data();
  view.k = k;
  view.room = static_cast<std::uint32_t>(candidate_room_of(k));
  if (!strategy) found.reserve(queries * view.room * sizeof(Candidate));
  view.candidates = at<Candidate>(found.data(), 0);

  Layout results;
  damaged_at = results.add<std::uint32_t>(1);
  num_results_at = results.add<std::uint32_t>(queries);
  results_at = results.add<Candidate>(queries * k);
  host_out.reserve(results.bytes());
  if (!direct) out.reserve(results.bytes());
  std::uint8_t* memory = direct ? host_out.data() : out.data();
  *at<std::uint32_t>(host_out.data(), damaged_at) = 0;
  view.num_results = at<std::uint32_t>(memory, num_results_at);
  view.results = at<Candidate>(memory, results_at);
}

void BatchRunner::State::make_entry_room(BatchView& view, const QueryBatch& batch, bool with_max) {
  view.ranges = (index.device().view.num_documents + range_documents - 1) / range_documents;
  view.blocks = batch.blocks;
  // Behind the last entry a tile is read to its end.
  entries.reserve(batch.entries + 4);
  view.entries = entries.data();
  const std::size_t num_starts = std::size_t{view.num_lists} * (view.ranges + 1);
  starts.reserve(num_starts);
  // A damaged block leaves its starts out: they count as behind the list.
  CUDA_CHECK(cudaMemsetAsync(starts.data(), 0xff, num_starts * sizeof(std::uint32_t), stream));
  view.starts = starts.data();
  if (!with_max) return;
  const std::size_t num_max = std::size_t{view.num_lists} * view.ranges;
  range_max.reserve(num_max);
  fill_zero(range_max.data(), num_max, stream);
  view.range_max = range_max.data();
}

void BatchRunner::State::count(const QueryBatch& batch, const BatchWork& work) {
  counts = {};
  if (!decodes) return;
  for (const ListView& list : batch.lists) {
    counts.list_bytes += std::uint64_t{list.words} * 4 + std::uint64_t{list.rows} * 8;
    counts.list_bytes += index.device().quantized ? std::uint64_t{list.df} * list.impact_width / 8
                                                  : std::uint64_t{list.df} * sizeof(float);
  }
  counts.entries = batch.entries;
  if (!work.intersect && work.pruning == Pruning::none) counts.added = batch.postings;
}

void BatchRunner::State::download() {
  if (!direct) {
    CUDA_CHECK(cudaMemcpyAsync(out.data() + damaged_at, index_view.damaged, sizeof(std::uint32_t),
                               cudaMemcpyDeviceToDevice, stream));
    ran.record(stream);
    copy_to_host(host_out.data(), out.data(), results_at + std::size_t{num_queries} * k * sizeof(Candidate), stream);
  } else {
    ran.record(stream);
  }
  ended.record(stream);
}

void BatchRunner::State::run_ranges(const BatchView& view, const BatchWork& work) {
  const bool quantized = index.device().quantized;
  with_coding(index.device().coding, [&]<Coding coding>() {
    if (decodes) {
      Kernels<coding>::write_entries(index_view, view, quantized, stream);
      decoded.record(stream);
      if (work.intersect)
        intersect_ranges(view, stream);
      else
        unite(view, work.pruning, stream);
    } else {
      Kernels<coding>::intersect(index_view, view, quantized, stream);
    }
    united.record(stream);
    const bool spread = decodes && view.num_queries <= max_spread_queries;
    if (spread) Kernels<coding>::score(index_view, view, quantized, stream);
    Kernels<coding>::finish(index_view, view, quantized, !decodes || spread, stream);
  });
}

void BatchRunner::start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after) {
  State& state = *state_;
  CUDA_CHECK(cudaSetDevice(static_cast<int>(state.index.gpu())));
  state.num_queries = static_cast<std::uint32_t>(batch.queries.size());
  state.k = static_cast<std::uint32_t>(work.k);
  state.direct = batch.queries.size() <= max_direct_queries;
  BatchView view;
  // A few queries look at few of their lists' blocks; for many, blocks are decoded once for all.
  const bool skip =
      work.intersect && (batch.queries.size() <= max_skipping_queries ||
                         std::any_of(batch.queries.begin(), batch.queries.end(),
                                     [](const BatchQuery& query) { return query.terms > lanes_per_warp; }));
  state.decodes = !state.strategy && !skip;
  state.count(batch, work);
  state.make_room(view, batch);
  state.upload(view, batch);
  if (state.decodes) state.make_entry_room(view, batch, work.pruning == Pruning::blocks);
  if (after) CUDA_CHECK(cudaStreamWaitEvent(state.stream, after->state_->ran.handle()));
  state.began.record(state.stream);
  if (state.strategy) {
    state.strategy->run(state.index_view, view, batch, work, state.stream);
    state.united.record(state.stream);
  } else {
    state.run_ranges(view, work);
  }
  state.download();
}

void BatchRunner::abandon() noexcept {
  if (!state_) return;
  cudaStreamSynchronize(state_->stream);
  cudaGetLastError();  // or the next call would report it again
}

void BatchRunner::wait() {
  State& state = *state_;
  state.ended.wait();
  const Event& uniting = state.decodes ? state.decoded : state.began;
  state.times = {state.uploaded.us_since(state.begun), state.decodes ? state.decoded.us_since(state.began) : 0,
                 state.united.us_since(uniting),       state.ran.us_since(state.united),
                 state.ended.us_since(state.ran),      state.ended.us_since(state.begun)};
  if (const std::uint32_t damaged = *at<std::uint32_t>(state.host_out.data(), state.damaged_at); damaged > 0)
    throw CorruptFile(
        state.index.engine().index().name() + ": " + std::to_string(damaged) +
        " blocks do not decode on the GPU; the index is damaged: quern verify says where; build it again, "
        "or restore a copy");
}

BatchAnswer BatchRunner::answer(std::uint32_t place) const {
  const State& state = *state_;
  std::uint8_t* out = state.host_out.data();
  const std::uint32_t found = at<std::uint32_t>(out, state.num_results_at)[place];
  const Candidate* results = at<Candidate>(out, state.results_at) + std::size_t{place} * state.k;
  BatchAnswer answer;
  if (found == no_room) {
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

}  // namespace quern::gpu
