#include "quern/measure/gpu/list_cache_bench.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/device/in_parallel.hpp"

namespace quern {
namespace {

/// The lists of a batch, each once. References to them stay valid.
class ReplayBatch {
 public:
  using Lists = std::unordered_map<term_t, std::pair<PostingList, gpu::ListView>>;

  explicit ReplayBatch(const gpu::ListCache& cache) : cache_(cache) {}

  /// False, and nothing is added, if what is not in a plan's fronts would then take more than `max_words`.
  bool add(const std::vector<WeightedList>& lists, std::uint64_t max_words) {
    std::uint64_t more = 0;
    for (const WeightedList& each : lists)
      if (is_kept(each.list) && !lists_.contains(each.list.number)) more += cache_.words_behind_front(each.list);
    if (words_ + more > max_words) return false;
    words_ += more;
    ++queries_;
    for (const WeightedList& each : lists)
      if (is_kept(each.list)) lists_.try_emplace(each.list.number, each.list, gpu::ListView{});
    return true;
  }
  void clear() {
    lists_.clear();
    words_ = queries_ = 0;
  }
  std::uint64_t queries() const { return queries_; }
  std::uint64_t words() const { return words_; }
  const Lists& lists() const { return lists_; }
  std::vector<gpu::WantedList> wanted() {
    std::vector<gpu::WantedList> all;
    for (auto& each : lists_) all.push_back({&each.second.first, &each.second.second});
    return all;
  }

 private:
  const gpu::ListCache& cache_;
  Lists lists_;
  std::uint64_t words_ = 0, queries_ = 0;
};

gpu::ListCacheOptions cache_options(const IndexReader& index, const ListCacheCase& of) {
  gpu::ListCacheOptions options{of.arenas};
  options.with_impacts = of.with_impacts;
  options.retention = of.retention;
  options.block_size = index.block_size();
  return options;
}

/// Takes queries as RankingShare does.
class Replay {
 public:
  Replay(const IndexReader& index, const ListCacheCase& of)
      : of_(of), block_size_(index.block_size()), cache_(cache_options(index, of)), batch_(cache_) {
    if (of.plan == nullptr) return;
    const std::uint64_t ratio = of.plan->manifest.block / block_size_;
    gpu::ListCopies copies;  // which nobody makes
    for (const CachedList& front : of.plan->lists) {
      const PostingList list = index.list(front.term);
      if (is_kept(list)) cache_.keep_front(list, front.blocks * ratio, copies);
    }
  }

  void add(const std::vector<WeightedList>& lists) {
    ++figures_.queries;
    if (batch_.queries() < of_.batch && batch_.add(lists, max_words())) return;
    run_batch();
    if (!batch_.add(lists, of_.by_windows ? max_words() : cache_.free_words())) ++figures_.left_out;
  }
  /// Ends a pass, and returns what it did.
  ListCacheFigures end_pass() {
    run_batch();
    figures_.counts = cache_.take_counts();
    return std::exchange(figures_, {});
  }

 private:
  std::uint64_t max_words() const {
    return of_.by_windows ? std::numeric_limits<std::uint64_t>::max() : cache_.free_words() / 2;
  }

  void run_batch() {
    if (batch_.queries() == 0) return;
    const unsigned flight = next_flight_++ % of_.flights;
    cache_.release(flight);
    if (of_.by_windows && batch_.words() > cache_.free_words() / 2)
      run_by_windows();
    else
      run_whole(flight);
    ++figures_.batches;
    batch_.clear();
  }

  void run_whole(unsigned flight) {
    gpu::ListCopies copies;
    if (cache_.acquire(flight, batch_.wanted(), copies)) return;
    release_all();
    if (!cache_.acquire(flight, batch_.wanted(), copies)) figures_.left_out += batch_.queries();
  }

  void run_by_windows() {
    ++figures_.windowed;
    release_all();
    if (const auto room = cache_.take_room()) cache_.give_back_room(*room);
    gpu::ListCacheCounts counts;
    counts.lists = batch_.lists().size();
    std::uint64_t copied = 0;  // words
    double at_border = 0;      // words of the blocks at a border of two windows
    for (const auto& [term, list] : batch_.lists()) {
      const std::uint64_t blocks = cache_.kept_front(term).blocks;
      const std::uint64_t words = cache_.words_of(list.first);
      const std::uint64_t kept = blocks == 0 ? 0 : front_of(list.first, blocks, block_size_, of_.with_impacts).size();
      counts.bytes += sizeof(std::uint32_t) * words;
      counts.resident_lists += kept == words;
      copied += words - kept;
      at_border += static_cast<double>(words - kept) / static_cast<double>(list.first.block_last.size());
    }
    // As DocumentWindows cuts them.
    const std::uint64_t most = std::max<std::uint64_t>(cache_.free_words() / 2, 1);
    std::uint64_t windows = (copied + most - 1) / most;
    windows += windows / 8;
    copied += static_cast<std::uint64_t>(at_border * static_cast<double>(windows > 0 ? windows - 1 : 0));
    counts.copied_bytes = sizeof(std::uint32_t) * copied;
    counts.bytes = std::max(counts.bytes, counts.copied_bytes);
    figures_.windows += windows;
    cache_.count(counts);
  }

  void release_all() {
    for (unsigned flight = 0; flight < of_.flights; ++flight) cache_.release(flight);
  }

  const ListCacheCase& of_;
  const unsigned block_size_;
  gpu::ListCache cache_;
  ReplayBatch batch_;
  unsigned next_flight_ = 0;
  ListCacheFigures figures_;
};

}  // namespace

LogLists find_log_lists(const QueryEngine& engine, std::span<const std::string_view> texts, Matching matching) {
  LogLists found;
  tbb::enumerable_thread_specific<Analyzer> analyzers([&engine] { return engine.make_analyzer(); });
  const double seconds = wall_seconds([&] {
    found.queries.resize(texts.size());
    gpu::in_parallel(texts.size(), [&](std::size_t i) {
      bool all_found = false;
      std::vector<WeightedList> lists = engine.lists_of(analyzers.local().terms(texts[i]), all_found);
      if (all_found || matching == Matching::any) found.queries[i] = std::move(lists);
    });
  });
  if (!texts.empty()) found.find_us = 1e6 * seconds / static_cast<double>(texts.size());
  return found;
}

ListCacheFigures replay_lists(const IndexReader& index, std::span<const std::vector<WeightedList>* const> queries,
                              const ListCacheCase& of) {
  Replay replay(index, of);
  ListCacheFigures figures;
  for (unsigned pass = 0; pass < of.passes; ++pass) {
    for (const std::vector<WeightedList>* lists : queries)
      if (!lists->empty()) replay.add(*lists);
    figures = replay.end_pass();
  }
  return figures;
}

ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const std::string_view> texts,
                                const ListCacheCase& of) {
  const LogLists found = find_log_lists(engine, texts, Matching::all);
  std::vector<const std::vector<WeightedList>*> queries;
  for (const std::vector<WeightedList>& lists : found.queries) queries.push_back(&lists);
  const ListCacheFigures figures = replay_lists(engine.index(), queries, of);
  if (figures.queries == 0)
    throw InvalidArgument(
        fmt::format("none of the {} queries has all of its terms in {}", texts.size(), engine.index().name()));
  return figures;
}

}  // namespace quern
