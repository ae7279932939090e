#pragma once
#include <algorithm>
#include <bit>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/gpu/worker/batch_view.cuh"
#include "quern/gpu/worker/query_batch.hpp"

#include "catch.hpp"
#include "index/pipeline/query_checks.hpp"

/// An index and batches in the form that kernels read, in host memory, for an emulated GPU: include
/// gpu/emulated_gpu.hpp first.
namespace quern::testing {

/// An index in a GPU's form, in host memory: sections, each followed by space for over-reading.
class HostIndex {
 public:
  explicit HostIndex(const QueryEngine& engine) : engine_(engine) {
    const IndexReader& index = engine.index();
    const ContainerReader& file = index.container();
    postings_ = padded(file.array<std::uint32_t>("postings"));
    block_last_ = padded(file.array<std::uint32_t>("block_last"));
    block_offset_ = padded(file.array<std::uint32_t>("block_offset"));
    block_max_ = padded(file.array<std::uint16_t>("block_max"));
    if (engine.quantizer()) impacts_ = padded(file.array<std::uint32_t>("impacts"));
    view.postings = postings_.data();
    view.block_last = block_last_.data();
    view.block_offset = block_offset_.data();
    view.block_max = block_max_.data();
    view.impacts = impacts_.data();
    view.constants = engine.constants().data();
    view.num_documents = index.num_documents();
    view.block_size = index.block_size();
    view.recursion = index.manifest().codec_options.recursion;
    view.damaged = &damaged_;
    const ScoringContext context = engine.scoring_context();
    view.static_scores = context.static_scores.empty() ? nullptr : context.static_scores.data();
    view.upper_bounds = context.upper_bounds.empty() ? nullptr : context.upper_bounds.data();
    scratch_.resize(1 << 20);
    view.scratch = scratch_.data();
  }

  const QueryEngine& engine() const { return engine_; }
  std::uint32_t damaged() const { return damaged_; }
  /// Changes some numbers of a section, like a broken disk.
  void damage(RandomBits& random) {
    std::vector<std::uint32_t>* sections[] = {&postings_, &block_last_, &block_offset_, &postings_};
    std::vector<std::uint32_t>& section = *sections[random.below(4)];
    for (unsigned i = 0; i < 40; ++i) {
      std::uint32_t& number = section[random.below(section.size() - 4096)];
      number =
          random.below(2) == 0 ? static_cast<std::uint32_t>(random.below(1u << 31)) : number ^ 1u << random.below(32);
    }
  }

  /// Loads the batch's lists into arenas, as DeviceListStore does, some of them in two parts.
  void move_lists(gpu::QueryBatch& batch, RandomBits& random) {
    gpu::ListCopies copies;
    gpu::ListCache cache = cache_of_fronts(batch, random, copies);
    std::vector<gpu::WantedList> wanted;
    for (const auto& [number, list] : batch.coded) wanted.push_back({list, &batch.lists[number]});
    REQUIRE(cache.acquire(0, wanted, copies));
    use_arenas(copies);
  }

  /// A cache with space for the batch's lists, with or without rows, that holds random fronts of most lists.
  gpu::ListCache cache_of_fronts(const gpu::QueryBatch& batch, RandomBits& random, gpu::ListCopies& copies) {
    gpu::ListCacheOptions options;
    options.with_impacts = !impacts_.empty();
    options.block_size = view.block_size;
    options.words = arena_words_ = postings_.size() + impacts_.size();
    options.rows = arena_rows_ = random.below(2) == 0 ? 0 : block_last_.size() * 2;
    gpu::ListCache cache(options);
    for (const auto& [number, list] : batch.coded)
      if (random.below(4) > 0) REQUIRE(cache.keep_front(*list, 1 + random.below(list->block_last.size()), copies));
    return cache;
  }
  /// Replaces the index's arrays with arenas that hold these copies.
  void use_arenas(const gpu::ListCopies& copies) {
    arena_.assign(arena_words_ + 4096, 0xabcdef01);
    for (const gpu::WordCopy& copy : copies.words)
      std::copy(copy.from.begin(), copy.from.end(), arena_.begin() + static_cast<std::ptrdiff_t>(copy.to));
    view.postings = arena_.data();
    view.impacts = impacts_.empty() ? nullptr : arena_.data();
    if (arena_rows_ == 0) return;
    std::vector<std::uint32_t> last(arena_rows_), offset(arena_rows_);
    std::vector<std::uint16_t> maxima(arena_rows_);
    for (const gpu::RowCopy& copy : copies.rows) {
      const auto to = static_cast<std::ptrdiff_t>(copy.to);
      std::copy(copy.list->block_last.begin(), copy.list->block_last.end(), last.begin() + to);
      std::copy(copy.list->block_offset.begin(), copy.list->block_offset.end(), offset.begin() + to);
      std::copy(copy.list->block_max.begin(), copy.list->block_max.end(), maxima.begin() + to);
    }
    block_last_ = padded(last);
    block_offset_ = padded(offset);
    block_max_ = padded(maxima);
    view.block_last = block_last_.data();
    view.block_offset = block_offset_.data();
    view.block_max = block_max_.data();
  }

  /// Loads random fronts of a batch's lists into an arena, and returns their cache, which has space for windows.
  gpu::ListCache keep_fronts(const gpu::BatchLists& lists, RandomBits& random) {
    gpu::ListCacheOptions options;
    options.with_impacts = !impacts_.empty();
    options.block_size = view.block_size;
    options.words = 2 * (postings_.size() + impacts_.size());
    options.window_words = options.words;
    gpu::ListCache cache(options);
    gpu::ListCopies copies;
    for (const auto& numbered_list : lists.coded)
      if (random.below(2) == 0)
        REQUIRE(
            cache.keep_front(*numbered_list.second, 1 + random.below(numbered_list.second->block_last.size()), copies));
    arena_.assign(options.words + options.window_words + 4096, 0xabcdef01);
    for (const gpu::WordCopy& copy : copies.words)
      std::copy(copy.from.begin(), copy.from.end(), arena_.begin() + static_cast<std::ptrdiff_t>(copy.to));
    view.postings = arena_.data();
    view.impacts = impacts_.empty() ? nullptr : arena_.data();
    return cache;
  }
  /// Fills a range of the arena with nonsense, and then its beginning with a window's words.
  void fill_arena(std::uint64_t first, std::uint64_t words, std::span<const gpu::WordCopy> copies) {
    const auto begin = arena_.begin() + static_cast<std::ptrdiff_t>(first);
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(words), 0xabcdef01);
    const std::uint64_t all = copies.empty() ? 0 : copies.back().to + copies.back().from.size();
    gpu::gather_words(copies, 0, all, arena_.data() + first);
  }

  gpu::Coding coding() const {
    const std::string_view codec = engine_.index().codec().name;
    if (codec == "maskpfd") return gpu::Coding::maskpfd;
    if (codec == "newpfd") return gpu::Coding::newpfd;
    if (codec == "rice") return gpu::Coding::rice;
    return view.recursion == 1 ? gpu::Coding::rpfd_once : gpu::Coding::rpfd;
  }

  gpu::IndexView view;

 private:
  template <class Section>
  static std::vector<typename Section::value_type> padded(const Section& section) {
    std::vector<typename Section::value_type> copy(section.begin(), section.end());
    copy.resize(copy.size() + 4096);
    return copy;
  }

  const QueryEngine& engine_;
  std::vector<std::uint16_t> block_max_;
  std::vector<std::uint32_t> postings_, block_last_, block_offset_, impacts_, scratch_, arena_;
  std::uint64_t arena_words_ = 0, arena_rows_ = 0;
  std::uint32_t damaged_ = 0;
};

/// A batch in the form that all strategies read, and the memory for its results, which holds garbage at first.
class HostBatchView {
 public:
  HostBatchView(const gpu::QueryBatch& batch, std::size_t k) {
    const std::size_t queries = batch.queries.size();
    view.lists = batch.lists.data();
    view.terms = batch.terms.data();
    view.queries = batch.queries.data();
    view.raw_docids = batch.raw_docids.data();
    view.raw_values = batch.raw_values.data();
    view.num_lists = static_cast<std::uint32_t>(batch.lists.size());
    view.num_queries = static_cast<std::uint32_t>(queries);
    view.k = static_cast<std::uint32_t>(k);
    view.next_work = &next_work_;
    results_.assign(queries * k, 0);
    view.results = results_.data();
    num_results_.assign(queries, 0xdeadbeef);
    view.num_results = num_results_.data();
  }
  HostBatchView(const HostBatchView&) = delete;
  HostBatchView& operator=(const HostBatchView&) = delete;

  /// The threshold for running a query again that has too many candidates.
  std::optional<std::uint32_t> min_units_again(std::size_t query) const {
    if (num_results_[query] != gpu::run_again) return std::nullopt;
    return static_cast<std::uint32_t>(results_[query * view.k] >> 32);
  }
  /// The output of the kernels.
  std::vector<ScoredDocument> results(std::size_t query) const {
    REQUIRE(num_results_[query] <= view.k);
    std::vector<ScoredDocument> documents;
    for (std::uint32_t i = 0; i < num_results_[query]; ++i) {
      const gpu::RankKey key = results_[query * view.k + i];
      documents.push_back({static_cast<docid_t>(key), std::bit_cast<float>(~static_cast<std::uint32_t>(key >> 32))});
    }
    return documents;
  }

  gpu::BatchView view;

 private:
  std::vector<gpu::RankKey> results_;
  std::vector<std::uint32_t> num_results_;
  std::uint32_t next_work_ = 0;
};

/// The texts of a batch's queries, and their lists. Must outlive the batch.
struct BatchQueries {
  std::vector<std::string> texts;
  std::deque<std::vector<WeightedList>> lists;
  const DocumentSet* passing = nullptr;  ///< documents to which results are restricted; null: all
};

/// A batch of the queries that have a list or, with `conjunctive`, only terms with lists. `min_units`: the threshold of
/// each query in the batch, from earlier runs.
inline gpu::QueryBatch batch_of(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                                bool conjunctive, std::size_t k, BatchQueries& asked,
                                std::span<const std::uint32_t> min_units = {}) {
  Analyzer analyzer = engine.make_analyzer();
  gpu::QueryBatch batch(engine);
  for (const auto& terms : queries) {
    bool all_found = false;
    auto lists_of_query = engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found);
    if (lists_of_query.empty() || (conjunctive && !all_found)) continue;
    asked.texts.push_back(text_of(terms));
    const auto& lists = asked.lists.emplace_back(std::move(lists_of_query));
    const std::size_t number = batch.queries.size();
    const std::uint32_t least = number < min_units.size() ? min_units[number] : 0;
    batch.add(std::vector<gpu::UnbatchedQuery>{{lists, least}},
              {.intersect = conjunctive, .k = k, .passing = asked.passing});
  }
  return batch;
}

}  // namespace quern::testing
