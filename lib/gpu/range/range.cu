#include "quern/gpu/range/intersection.cuh"
#include "quern/gpu/range/range_kernels.hpp"
#include "quern/gpu/range/union.cuh"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

template <unsigned threads, unsigned blocks>
__global__ void __launch_bounds__(threads, blocks) run_union(const __grid_constant__ RangeView batch, Pruning pruning) {
  UnionBlock<threads>(batch, *dynamic_shared<UnionShared>(), pruning).run();
}

__global__ void __launch_bounds__(plain_threads) prepare_starts(const __grid_constant__ RangeView batch) {
  clear_starts(batch);
}

__global__ void __launch_bounds__(plain_threads, intersection_blocks)
    run_range_intersection(const __grid_constant__ RangeView batch) {
  answer_items(batch);
}

/// Finds candidates among the documents with any term of a query, from the entries.
template <unsigned threads, unsigned blocks_each>
void unite(const RangeView& batch, Pruning pruning, unsigned left_free, const CudaStream& stream) {
  constexpr auto kernel = run_union<threads, blocks_each>;
  const unsigned blocks = resident_blocks(kernel, threads, sizeof(UnionShared), left_free);
  launch(kernel, std::min(blocks, batch.ranges * batch.num_query_sets), threads, sizeof(UnionShared), stream, batch,
         pruning);
}

/// The union with more threads per thread block if there are few of them: some ranges have many more postings than
/// others, and a query's time is that of the slowest.
void unite(const RangeView& batch, Pruning pruning, unsigned left_free, const CudaStream& stream) {
  constexpr auto large = run_union<union_threads_of_few, 1>;
  if (std::uint64_t{batch.ranges} * batch.num_query_sets <=
      resident_blocks(large, union_threads_of_few, sizeof(UnionShared), left_free))
    unite<union_threads_of_few, 1>(batch, pruning, left_free, stream);
  else if (batch.num_queries <= max_direct_queries)
    unite<2 * union_threads, union_blocks / 2>(batch, pruning, left_free, stream);
  else
    unite<union_threads, union_blocks>(batch, pruning, left_free, stream);
}

/// Finds candidates among the documents with all terms of a query, from the entries.
void intersect_ranges(const RangeView& batch, unsigned left_free, const CudaStream& stream) {
  constexpr unsigned warps_per_block = plain_threads / lanes_per_warp;
  const unsigned useful = std::max(1u, (batch.items.all + warps_per_block - 1) / warps_per_block);
  const unsigned blocks = std::min(resident_blocks(run_range_intersection, plain_threads, 0, left_free), useful);
  launch(run_range_intersection, blocks, plain_threads, 0, stream, batch);
}

/// Decodes the batch's lists that are not decoded yet. `coded`: some of these are not raw.
template <Coding coding>
void decode_missing(const IndexView& index, const RangeView& batch, bool coded, bool quantized,
                    const CudaStream& stream) {
  if (batch.blocks == 0) return;
  if (coded)
    launch(prepare_starts, std::min(resident_blocks(prepare_starts, plain_threads, 0), batch.num_lists), plain_threads,
           0, stream, batch);
  RangeKernels<coding>::write_entries(index, batch, quantized, stream);
}

/// Decodes lists to entries once for all queries, finds candidates in them range by range, and scores these exactly. A
/// batch of intersections that looks up few documents reads the lists directly instead.
class RangeRun final : public StrategyRun {
 public:
  RangeRun(const DeviceIndex& index, MemoryAccount& account)
      : device_(index.device()),
        account_(account),
        candidates_(account, MemoryUse::working),
        spare_(account, MemoryUse::working) {}

  OwnBytes plan(const QueryBatch& batch, const BatchWork& work) override {
    decodes_ = !batch.entries_of.lists.empty();
    count(batch, work);
    query_sets_.clear();
    items_ = {};
    if (!work.intersect)
      query_sets_ = cut_query_sets_for_gpu(batch);
    else
      items_ = IntersectionItems(batch);
    primed_.clear();
    for (const BatchQuery& query : batch.queries)
      primed_.push_back(ThresholdKey{query.min_units} << 32);  // docid: none
    range_passes_ = ranges_that_pass(work.passing);
    ArrayLayout zeroed;
    for (const std::size_t count : zeroed_counts(batch.queries.size())) zeroed.add<std::uint32_t>(count);
    return {layout_of([this](const auto& visit) { visit_filled(visit); }).bytes(), zeroed.bytes()};
  }

  void fill(std::uint8_t* host, std::uint8_t* filled, std::uint8_t* zeroed) override {
    view_ = {};
    put_all([this](const auto& visit) { visit_filled(visit); }, host, filled);
    if (range_passes_.empty()) view_.range_passes = nullptr;
    view_.num_query_sets = static_cast<std::uint32_t>(query_sets_.size());
    ArrayLayout layout;
    std::uint32_t** array[] = {&view_.steps, &view_.max_docid, &view_.num_candidates, &num_scored_};
    for (std::size_t i = 0; const std::size_t count : zeroed_counts(primed_.size()))
      *array[i++] = at<std::uint32_t>(zeroed, layout.add<std::uint32_t>(count));
  }

  void prepare(const QueryBatch& batch, const BatchWork& work) override {
    prepare_queries(batch, work);
    view_.ranges = num_ranges(device_.view.num_documents);
    set_items();
  }

  void prepare_windows(const QueryBatch& batch, const BatchWork& work, const CudaStream&) override {
    prepare_queries(batch, work);
    view_.writes_max = view_.reads_max;
    scores_windows_ = std::any_of(batch.queries.begin(), batch.queries.end(),
                                  [](const BatchQuery& query) { return query.exact_units == 0; });
    view_.num_scored = num_scored_;
  }

  void run_window(const IndexView& index, const BatchView& shared, const WindowLists& lists, const BatchWork& work,
                  const CudaStream& stream) override {
    static_cast<BatchView&>(view_) = shared;
    view_.first_range = lists.window.first_range;
    view_.ranges = lists.window.ranges;
    set_items();
    with_coding(device_.coding, [&]<Coding coding>() {
      decode_missing<coding>(index, view_, true, device_.quantized, stream);
      find_candidates(work, index.left_free, stream);
      if (!scores_windows_) return;
      // Score now, while the window's blocks are in memory.
      RangeKernels<coding>::score(index, view_, device_.quantized, stream);
      CUDA_CHECK(cudaMemcpyAsync(view_.num_scored, view_.num_candidates,
                                 (std::size_t{view_.num_queries} + 1) * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice,
                                 stream));
    });
  }

  void finish_windows(const IndexView& index, const BatchView& shared, const CudaStream& stream) override {
    static_cast<BatchView&>(view_) = shared;
    with_coding(device_.coding, [&]<Coding coding>() {
      RangeKernels<coding>::finish(index, view_, device_.quantized, scores_windows_, stream);
    });
  }

  void run(const IndexView& index, const BatchView& shared, const QueryBatch&, const BatchWork& work,
           const CudaStream& stream) override {
    static_cast<BatchView&>(view_) = shared;
    with_coding(device_.coding, [&]<Coding coding>() {
      if (decodes_) {
        decode_missing<coding>(index, view_, decodes_coded_, device_.quantized, stream);
        if (notes_decoding()) decoded_.record(stream);
        find_candidates(work, index.left_free, stream);
      } else {
        RangeKernels<coding>::intersect(index, view_, device_.quantized, stream);
      }
      if (!is_direct()) united_.record(stream);
      const bool few = is_direct() && view_.k <= max_results_of_few;
      const bool spread = decodes_ && view_.num_queries <= max_spread_queries && !few;
      if (spread) RangeKernels<coding>::score(index, view_, device_.quantized, stream);
      RangeKernels<coding>::finish(index, view_, device_.quantized, !decodes_ || spread, stream);
    });
  }

  void free_memory() override {
    candidates_.release();
    spare_.release();
  }

  void add_times(const CudaEvent& started, const CudaEvent& ended, BatchTimes& times) const override {
    times.decode_us = notes_decoding() ? decoded_.us_since(started) : 0;
    times.unite_us = (is_direct() ? ended : united_).us_since(notes_decoding() ? decoded_ : started);
    times.finish_us = is_direct() ? 0 : ended.us_since(united_);
  }

  BatchCounts counts() const override { return counts_; }

 private:
  /// An event takes as long as a small step of a direct batch, so its steps are measured as one.
  bool is_direct() const { return view_.num_queries <= max_direct_queries; }
  bool notes_decoding() const { return decodes_ && view_.blocks > 0 && !is_direct(); }

  template <class Visit>
  void visit_filled(const Visit& visit) {
    visit(query_sets_, view_.query_sets);
    visit(items_.queries(), item_queries_);
    visit(primed_, view_.thresholds);
    visit(range_passes_, view_.range_passes);
  }
  /// The sizes of RangeView's steps, max_docid, num_candidates and num_scored.
  static std::array<std::size_t, 4> zeroed_counts(std::size_t queries) {
    return {queries * threshold_steps, queries, queries + 1, queries + 1};
  }

  void prepare_queries(const QueryBatch& batch, const BatchWork& work) {
    view_.tasks = batch.tasks;
    view_.block_size = device_.view.block_size;
    view_.num_documents = device_.view.num_documents;
    view_.static_scores = device_.static_scores.data();
    view_.range_static_score = device_.range_static_score.data();
    view_.range_upper_bounds = device_.range_upper_bounds.data();
    view_.reads_max = work.pruning == Pruning::blocks;
    view_.is_cached = batch.entries <= cached_entries;
    view_.max_candidates = candidates_for(batch.queries.size(), work.k);
    view_.sorted_candidates = std::min(view_.max_candidates, static_cast<std::uint32_t>(sorted_candidates(work.k)));
    view_.candidates = candidates_.reserve(batch.queries.size() * view_.max_candidates);
    view_.max_spare = static_cast<std::uint32_t>(max_spare(batch.queries.size()));
    view_.spare = spare_.reserve(view_.max_spare);
  }

  /// Candidates per query: at most half of the memory that is left.
  std::uint32_t candidates_for(std::size_t queries, std::size_t k) const {
    const std::uint64_t room = (account_.left() + candidates_.size_bytes()) / 2 / sizeof(Candidate);
    std::size_t each = max_candidates(k, queries);
    while (each > min_candidates(k) && queries * each > room) each /= 2;
    return static_cast<std::uint32_t>(each);
  }

  void set_items() {
    view_.items = items_.view(view_.ranges);
    view_.items.queries = item_queries_;
  }

  void find_candidates(const BatchWork& work, unsigned left_free, const CudaStream& stream) {
    if (work.intersect)
      intersect_ranges(view_, left_free, stream);
    else
      unite(view_, work.pruning, left_free, stream);
  }

  void count(const QueryBatch& batch, const BatchWork& work) {
    counts_ = {};
    decodes_coded_ = false;
    if (!decodes_) return;
    for (std::size_t i = 0; i < batch.lists.size(); ++i) {
      const ListView& list = batch.lists[i];
      if (!batch.entries_of.lists.empty() && batch.entries_of.lists[i].blocks == 0) continue;
      decodes_coded_ |= !list.raw;
      counts_.decoded += list.df;
      counts_.list_bytes += std::uint64_t{list.words} * 4 + std::uint64_t{list.rows} * 8;
      counts_.list_bytes +=
          device_.quantized ? std::uint64_t{list.df} * list.impact_width / 8 : std::uint64_t{list.df} * sizeof(float);
    }
    counts_.entries = batch.entries;
    if (!work.intersect && work.pruning == Pruning::none) counts_.added = batch.postings;
  }

  const DeviceIndex::Device& device_;
  const MemoryAccount& account_;
  bool decodes_ = false;         ///< lists to entries
  bool decodes_coded_ = false;   ///< whether any of them is coded and not decoded yet
  bool scores_windows_ = false;  ///< whether it scores candidates window by window
  BatchCounts counts_;
  std::vector<QuerySet> query_sets_;  ///< of unions
  IntersectionItems items_;           ///< of intersections from entries
  std::vector<ThresholdKey> primed_;  ///< initial thresholds
  std::vector<std::uint8_t> range_passes_;
  const std::uint32_t* item_queries_ = nullptr;
  std::uint32_t* num_scored_ = nullptr;
  RangeView view_;
  DeviceArray<Candidate> candidates_;
  DeviceArray<SpareCandidate> spare_;
  CudaEvent decoded_, united_;
};

}  // namespace

std::unique_ptr<StrategyRun> make_range(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions&) {
  return std::make_unique<RangeRun>(index, account);
}

}  // namespace quern::gpu
