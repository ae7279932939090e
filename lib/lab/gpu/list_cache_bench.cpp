#include "quern/lab/gpu/list_cache_bench.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <limits>
#include <unordered_map>

#include "quern/core/wall_clock.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/store/document_windows.hpp"

namespace quern {
namespace {

/// The distinct lists of a batch. References to them stay valid.
class ReplayBatch {
 public:
  struct Listed {
    PostingList list;  ///< as the batch reads it
    bool is_cut = false;
    gpu::ListView view;
    std::uint32_t queries = 0;  ///< that need it
  };
  using Lists = std::unordered_map<term_t, Listed>;

  ReplayBatch(const ListCacheCase& options, const gpu::ListCache& cache) : options_(options), cache_(cache) {}

  /// Adds a query's lists, or returns false if the words outside a plan's fronts would exceed `max_words`, or those to
  /// be copied `max_missing`.
  bool add(const std::vector<WeightedList>& lists, std::uint64_t max_words,
           std::uint64_t max_missing = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t more = 0, missing = 0;
    std::vector<Listed> added;
    for (const WeightedList& each : lists) {
      if (!is_kept(each.list) || lists_.contains(each.list.number)) continue;
      const PostingList& list = added.emplace_back(as_read(each.list)).list;
      more += cache_.words_behind_front(list);
      missing += cache_.missing_words(list);
    }
    if (words_ + more > max_words || missing_words_ + missing > max_missing) return false;
    words_ += more;
    missing_words_ += missing;
    queries_.push_back(&lists);
    for (const Listed& list : added) lists_.emplace(list.list.number, list);
    for (const WeightedList& each : lists)
      if (is_kept(each.list)) ++lists_.at(each.list.number).queries;
    return true;
  }
  void clear() {
    lists_.clear();
    queries_.clear();
    words_ = missing_words_ = 0;
  }
  std::uint64_t queries() const { return queries_.size(); }
  /// Empties the batch, and returns the lists of its queries.
  std::vector<const std::vector<WeightedList>*> take_queries() {
    std::vector<const std::vector<WeightedList>*> taken = std::move(queries_);
    clear();
    return taken;
  }
  std::uint64_t words() const { return words_; }
  const Lists& lists() const { return lists_; }
  /// Those to be brought; sets the places of fronts.
  std::vector<gpu::WantedList> wanted(gpu::ListCache& cache) {
    std::vector<gpu::WantedList> all;
    for (auto& [term, each] : lists_) {
      if (each.is_cut)
        cache.use_front(each.list, each.view);
      else
        all.push_back({.list = &each.list, .view = &each.view, .queries = each.queries});
    }
    return all;
  }

 private:
  Listed as_read(const PostingList& list) const {
    if (options_.ends_on_fronts)
      if (const std::optional<PostingList> front = cache_.front_only(list)) return {*front, true, {}};
    return {list, false, {}};
  }

  const ListCacheCase& options_;
  const gpu::ListCache& cache_;
  Lists lists_;
  std::vector<const std::vector<WeightedList>*> queries_;
  std::uint64_t words_ = 0, missing_words_ = 0;
};

/// Batches queries like RankingWorker.
class Replay {
 public:
  Replay(const IndexReader& index, const ListCacheCase& options)
      : index_(index), options_(options), cache_(options), batch_(options, cache_) {
    if (options.plan == nullptr) return;
    const std::uint64_t ratio = options.plan->manifest.block / index.block_size();
    gpu::ListCopies copies;  // ignored
    for (const CachedList& front : options.plan->lists) {
      const PostingList list = index.list(front.term);
      if (is_kept(list)) cache_.keep_front(list, front.blocks * ratio, copies);
    }
  }

  void add(const std::vector<WeightedList>& lists) {
    ++figures_.queries;
    if (batch_.queries() < options_.batch && batch_.add(lists, max_words(), max_missing_words())) return;
    run_batch();
    const std::uint64_t words = options_.by_windows ? max_words() : cache_.free_words();
    if (!batch_.add(lists, words, max_missing_words())) ++figures_.left_out;
  }
  ListCacheFigures end_pass() {
    run_batch();
    figures_.counts = cache_.take_counts();
    return std::exchange(figures_, {});
  }

 private:
  std::uint64_t max_words() const {
    return options_.by_windows ? std::numeric_limits<std::uint64_t>::max() : cache_.free_words() / 2;
  }

  std::uint64_t max_missing_words() const {
    return options_.all_for_fronts ? options_.window_words / 2 : std::numeric_limits<std::uint64_t>::max();
  }

  void run_batch() {
    if (batch_.queries() == 0) return;
    const bool is_large = options_.by_windows && batch_.words() > cache_.free_words() / 2;
    if (!is_large) return run_whole();
    const unsigned flight = next_flight_ % options_.flights;
    cache_.release(flight);
    if (!run_by_windows(flight)) {
      cache_.release(flight);
      return run_in_smaller_batches();
    }
    ++next_flight_;
    ++figures_.batches;
    batch_.clear();
  }

  void run_in_smaller_batches() {
    for (const std::vector<WeightedList>* lists : batch_.take_queries()) {
      if (batch_.add(*lists, cache_.free_words() / 2)) continue;
      run_whole();
      if (!batch_.add(*lists, cache_.free_words())) ++figures_.left_out;
    }
    run_whole();
  }

  void run_whole() {
    if (batch_.queries() == 0) return;
    const unsigned flight = next_flight_++ % options_.flights;
    cache_.release(flight);
    gpu::ListCopies copies;
    const std::vector<gpu::WantedList> wanted = batch_.wanted(cache_);
    if (!cache_.acquire(flight, wanted, copies)) {
      release_all();
      if (!cache_.acquire(flight, wanted, copies)) figures_.left_out += batch_.queries();
    }
    ++figures_.batches;
    batch_.clear();
  }

  /// Cuts the batch into DocumentWindows. False if the memory is too small for the smallest window.
  bool run_by_windows(unsigned flight) {
    std::vector<gpu::ListView> views;
    std::vector<std::pair<std::uint32_t, const PostingList*>> coded;
    std::vector<gpu::WantedList> held;
    for (const auto& [term, each] : batch_.lists()) {
      coded.emplace_back(static_cast<std::uint32_t>(views.size()), &each.list);
      views.push_back(each.view);
      if (!each.is_cut) held.push_back({.list = &each.list, .queries = each.queries});
    }
    gpu::ListCopies copies;
    cache_.hold(flight, held, copies);
    cache_.copied();
    return cut_windows(views, coded);
  }

  bool cut_windows(const std::vector<gpu::ListView>& views,
                   const std::vector<std::pair<std::uint32_t, const PostingList*>>& coded) {
    gpu::WindowLimits limits{cache_.windows().words / 2, std::numeric_limits<std::uint64_t>::max() / 2,
                             std::numeric_limits<std::uint32_t>::max()};
    try {
      const gpu::DocumentWindows windows(index_, {views, coded}, cache_, limits);
      cache_.count(windows.counts(cache_));
      ++figures_.windowed;
      figures_.windows += windows.size();
      figures_.window_lists += windows.size() * coded.size();
    } catch (const GpuOutOfMemory&) {
      return false;
    }
    return true;
  }

  void release_all() {
    for (unsigned flight = 0; flight < options_.flights; ++flight) cache_.release(flight);
  }

  const IndexReader& index_;
  const ListCacheCase& options_;
  gpu::ListCache cache_;
  ReplayBatch batch_;
  unsigned next_flight_ = 0;
  ListCacheFigures figures_;
};

}  // namespace

LogLists find_log_lists(const QueryEngine& engine, std::span<const QueryView> queries, Matching matching) {
  LogLists found;
  const double seconds = wall_seconds([&] {
    found.queries.resize(queries.size());
    gpu::in_parallel(queries.size(), [&](std::size_t i) {
      bool all_found = false;
      std::vector<WeightedList> lists = engine.lists_of(queries[i], all_found);
      if (all_found || matching == Matching::any) found.queries[i] = std::move(lists);
    });
  });
  if (!queries.empty()) found.find_us = 1e6 * seconds / static_cast<double>(queries.size());
  return found;
}

ListCacheFigures replay_lists(const IndexReader& index, std::span<const std::vector<WeightedList>* const> queries,
                              ListCacheCase options) {
  options.block_size = index.block_size();
  Replay replay(index, options);
  ListCacheFigures figures;
  for (unsigned pass = 0; pass < options.passes; ++pass) {
    for (const std::vector<WeightedList>* lists : queries)
      if (!lists->empty()) replay.add(*lists);
    figures = replay.end_pass();
  }
  return figures;
}

ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const QueryView> queries,
                                const ListCacheCase& options) {
  const LogLists found = find_log_lists(engine, queries, Matching::all);
  std::vector<const std::vector<WeightedList>*> lists_of_queries;
  for (const std::vector<WeightedList>& lists : found.queries) lists_of_queries.push_back(&lists);
  const ListCacheFigures figures = replay_lists(engine.index(), lists_of_queries, options);
  if (figures.queries == 0)
    throw InvalidArgument("none of the {} queries has all of its terms in {}; use queries for its collection",
                          queries.size(), engine.index().name());
  return figures;
}

}  // namespace quern
