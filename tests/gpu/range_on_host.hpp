#pragma once
#include "gpu/emulated_gpu.hpp"
//
#include "gpu/cut_batch.hpp"
#include "gpu/host_index.hpp"
#include "gpu/host_windows.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <cstring>
#include <optional>

#include "quern/gpu/range/range_view.cuh"
#include "quern/gpu/store/entry_cache.hpp"
#include "quern/search/document_set.hpp"

#include "catch.hpp"

/// The strategy `range` on the emulated GPU: its batch, and its kernels in the order in which RangeRun launches them.
namespace quern::testing {

/// Memory for decoded lists, which holds garbage at first.
class HostEntries {
 public:
  HostEntries(std::uint64_t words, std::uint32_t ranges) : cache_(words, ranges), words_(words + 8) { forget(); }

  gpu::EntryCache& cache() { return cache_; }
  /// Aligned, since four entries are read at once.
  std::uint32_t* data() { return words_.data() + (16 - reinterpret_cast<std::uintptr_t>(words_.data()) % 16) % 16 / 4; }
  void forget() { std::fill(words_.begin(), words_.end(), 0xdeadbeef); }
  /// Assigns memory for entries to a batch's lists.
  void place(gpu::QueryBatch& batch) { REQUIRE(cache_.acquire(0, {batch.lists, batch.coded}, batch.entries_of)); }

 private:
  gpu::EntryCache cache_;
  std::vector<std::uint32_t> words_;
};

/// Memory for the decoded lists of all batches.
inline HostEntries entries_for(const gpu::QueryBatch& batch) {
  const std::uint32_t ranges = gpu::num_ranges(batch.engine().index().num_documents());
  return {batch.entries + batch.lists.size() * gpu::start_words(ranges), ranges};
}

/// A batch of queries with the memory that RangeRun allocates; memory that a GPU does not initialise holds garbage.
class HostBatch {
 public:
  HostBatch(const HostIndex& index, const gpu::QueryBatch& batch, std::size_t k, bool with_max)
      : shared_(batch, k), query_sets_(gpu::cut_query_sets(batch, 5)) {
    const std::size_t queries = batch.queries.size();
    static_cast<gpu::BatchView&>(view) = shared_.view;
    view.query_sets = query_sets_.data();
    view.num_query_sets = static_cast<std::uint32_t>(query_sets_.size());
    view.tasks = batch.tasks;
    view.block_size = index.view.block_size;
    view.num_documents = index.view.num_documents;
    view.ranges = (index.view.num_documents + gpu::range_documents - 1) / gpu::range_documents;
    set_static_scores(index);
    view.entries_of = batch.entries_of.lists.empty() ? nullptr : batch.entries_of.lists.data();
    view.blocks = batch.entries_of.blocks;
    view.reads_max = with_max;
    view.is_cached = with_max;  // both kinds of search
    for (const gpu::BatchQuery& query : batch.queries) thresholds_.push_back(gpu::ThresholdKey{query.min_units} << 32);
    view.thresholds = thresholds_.data();
    steps_.assign(queries * gpu::threshold_steps, 0);
    view.steps = steps_.data();
    max_docid_.assign(queries, 0);
    view.max_docid = max_docid_.data();
    view.max_candidates = static_cast<std::uint32_t>(gpu::max_candidates(k, queries));
    view.sorted_candidates = static_cast<std::uint32_t>(gpu::sorted_candidates(k));
    candidates_.assign(queries * view.max_candidates, ~gpu::Candidate{5});
    view.candidates = candidates_.data();
    num_candidates_.assign(queries + 1, 0);
    view.num_candidates = num_candidates_.data();
    spare_.assign(gpu::max_spare(queries), {~gpu::Candidate{5}, 0xdeadbeef});
    view.spare = spare_.data();
    view.max_spare = static_cast<std::uint32_t>(spare_.size());
    if (batch.queries.empty()) return;
    items_ = gpu::IntersectionItems(batch);
    set_items();
  }

  std::vector<ScoredDocument> results(std::size_t query) const { return shared_.results(query); }
  std::optional<std::uint32_t> min_units_again(std::size_t query) const { return shared_.min_units_again(query); }

  /// Cuts an intersection's queries into items of about this many documents.
  void cut_items(const gpu::QueryBatch& batch, std::uint64_t documents) {
    items_ = gpu::IntersectionItems(batch, documents);
    set_items();
  }

  /// Restricts results to these documents; null: no restriction.
  void filter(const DocumentSet* passing) {
    range_passes_ = gpu::ranges_that_pass(passing);
    if (passing == nullptr) return;
    view.range_passes = range_passes_.data();
    passing_.assign(std::size_t{gpu::num_ranges(view.num_documents)} * gpu::range_documents / 32, 0);
    const auto words = std::as_bytes(passing->words());
    std::memcpy(passing_.data(), words.data(), words.size());
    view.passing = passing_.data();
  }

  /// Gives the batch the memory for decoded lists.
  void use(HostEntries& entries) { view.entries = entries.data(); }

  /// Prepares the memory for a window, as RangeRun does.
  void begin_window(const gpu::WindowLists& lists) {
    view.lists = lists.lists.data();
    view.first_range = lists.window.first_range;
    view.ranges = lists.window.ranges;
    set_items();
    view.entries_of = lists.entries_of.lists.data();
    view.blocks = lists.entries_of.blocks;
    view.writes_max = view.reads_max;
    *view.next_work = 0;
    num_scored_.resize(num_candidates_.size());
    view.num_scored = num_scored_.data();
  }
  void note_scored() { num_scored_ = num_candidates_; }

  gpu::RangeView view;

 private:
  void set_items() {
    view.items = items_.view(view.ranges);
    view.items.queries = items_.queries().data();
  }
  static std::vector<float> max_of_ranges(std::span<const float> of_documents) {
    std::vector<float> greatest;
    for (std::size_t i = 0; i < of_documents.size(); ++i) {
      if (i % gpu::range_documents == 0) greatest.push_back(of_documents[i]);
      greatest.back() = std::max(greatest.back(), of_documents[i]);
    }
    return greatest;
  }
  void set_static_scores(const HostIndex& index) {
    const ScoringContext context = index.engine().scoring_context();
    range_static_score_ = max_of_ranges(context.static_scores);
    range_upper_bounds_ = max_of_ranges(context.upper_bounds);
    view.static_scores = index.view.static_scores;
    view.range_static_score = range_static_score_.empty() ? nullptr : range_static_score_.data();
    view.range_upper_bounds = range_upper_bounds_.empty() ? nullptr : range_upper_bounds_.data();
  }

  HostBatchView shared_;
  std::vector<gpu::QuerySet> query_sets_;
  std::vector<std::uint32_t> steps_, max_docid_, num_candidates_, num_scored_;
  std::vector<std::uint32_t> passing_;
  std::vector<std::uint8_t> range_passes_;
  std::vector<float> range_static_score_, range_upper_bounds_;
  std::vector<gpu::ThresholdKey> thresholds_;
  std::vector<gpu::Candidate> candidates_;
  std::vector<gpu::SpareCandidate> spare_;
  gpu::IntersectionItems items_;
};

/// The alternatives among which RangeRun chooses.
struct Way {
  bool intersect = false, from_lists = false, score_first = false;
  gpu::Pruning pruning = gpu::Pruning::none;
  const HostWindows* windows = nullptr;
  HostEntries* entries = nullptr;        ///< for windows
  std::uint64_t item_documents = 0;      ///< per item of intersections from entries; 0: as on a GPU
  bool few_queries = false;              ///< many threads per query
  const DocumentSet* passing = nullptr;  ///< documents to which results are restricted; null: all
};

/// Runs the kernels for a batch.
void run_way(HostIndex& index, HostBatch& host, const Way& way);

}  // namespace quern::testing
