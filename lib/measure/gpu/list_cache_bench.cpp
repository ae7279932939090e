#include "quern/measure/gpu/list_cache_bench.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// The lists of a batch, each once. References to them stay valid.
class ReplayBatch {
 public:
  explicit ReplayBatch(const gpu::ListCache& cache) : cache_(cache) {}

  /// False, and nothing is added, if the lists would then take more than `max_words`.
  bool add(const std::vector<WeightedList>& lists, std::uint64_t max_words) {
    std::uint64_t more = 0;
    for (const WeightedList& each : lists)
      if (!each.list.block_last.empty() && !lists_.contains(each.list.number)) more += cache_.words_of(each.list);
    if (words_ + more > max_words) return false;
    words_ += more;
    ++queries_;
    for (const WeightedList& each : lists)
      if (!each.list.block_last.empty()) lists_.try_emplace(each.list.number, each.list, gpu::ListView{});
    return true;
  }
  void clear() {
    lists_.clear();
    words_ = queries_ = 0;
  }
  std::uint64_t queries() const { return queries_; }
  std::vector<gpu::WantedList> wanted() {
    std::vector<gpu::WantedList> all;
    for (auto& each : lists_) all.push_back({&each.second.first, &each.second.second});
    return all;
  }

 private:
  const gpu::ListCache& cache_;
  std::unordered_map<term_t, std::pair<PostingList, gpu::ListView>> lists_;
  std::uint64_t words_ = 0, queries_ = 0;
};

}  // namespace

ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const std::string_view> texts,
                                const ListCacheCase& of) {
  const IndexReader& index = engine.index();
  gpu::ListCacheOptions options;
  options.words = of.bytes / sizeof(std::uint32_t);
  options.block_size = index.block_size();
  options.retention = of.retention;
  gpu::ListCache cache(options);
  ListCacheFigures figures;
  ReplayBatch batch(cache);
  const auto run_batch = [&] {
    if (batch.queries() == 0) return;
    gpu::ListCopies copies;
    if (!cache.acquire(0, batch.wanted(), copies)) figures.left_out += batch.queries();
    cache.release(0);
    ++figures.batches;
    batch.clear();
  };
  Analyzer analyzer = engine.make_analyzer();
  for (const std::string_view text : texts) {
    bool all_found = false;
    const std::vector<WeightedList> lists = engine.lists_of(analyzer.terms(text), all_found);
    if (lists.empty() || !all_found) continue;
    ++figures.queries;
    if (batch.queries() == of.batch || !batch.add(lists, options.words / 2)) {
      run_batch();
      if (!batch.add(lists, options.words)) ++figures.left_out;
    }
  }
  if (figures.queries == 0)
    throw InvalidArgument(fmt::format("none of the {} queries has all of its terms in {}", texts.size(), index.name()));
  run_batch();
  figures.counts = cache.take_counts();
  return figures;
}

}  // namespace quern
