#include "quern/gpu/sharded_engine.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "quern/core/own_errors.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/search/best_of_shards.hpp"

namespace quern {
namespace {

/// Groups of queries that are begun at a time: one whose answers are merged, one that GPUs work on, and one that is
/// made ready for them.
constexpr std::size_t groups_begun = 3;

}  // namespace

class ShardedEngine::Found {
 public:
  explicit Found(const IndexShards& shards) : shards_(shards) {}

  /// Of the next shard.
  void add(std::vector<QueryAnswer> answers) { of_shards_.push_back(std::move(answers)); }
  /// Documents that shards found for a query, at most k of each.
  std::size_t documents(std::size_t query) const {
    std::size_t sum = 0;
    for (const auto& answers : of_shards_) sum += answers[query].documents.size();
    return sum;
  }
  /// Takes what another one has found for a query instead.
  void replace(std::size_t query, Found& other, std::size_t query_of_other) {
    for (std::size_t shard = 0; shard < of_shards_.size(); ++shard) {
      QueryAnswer& now = of_shards_[shard][query];
      QueryAnswer& then = other.of_shards_[shard][query_of_other];
      now.documents = std::move(then.documents);
      now.statistics += then.statistics;
      now.time_us += then.time_us;
    }
  }
  /// Merges what the shards found for a query, and forgets it.
  void merge(std::size_t query, std::size_t k, QueryAnswer& whole) {
    whole = std::exchange(of_shards_.front()[query], {});
    for (std::size_t shard = 1; shard < of_shards_.size(); ++shard) {
      const QueryAnswer answer = std::exchange(of_shards_[shard][query], {});
      add_results_of_shard(whole.documents, answer.documents, shards_.first_docid(shard), k);
      whole.statistics += answer.statistics;
      // They work at the same time.
      whole.time_us = std::max(whole.time_us, answer.time_us);
    }
  }

 private:
  const IndexShards& shards_;
  std::vector<std::vector<QueryAnswer>> of_shards_;
};

ShardedEngine::ShardedEngine(const IndexShards& shards, std::span<const std::unique_ptr<QueryEngine>> engines,
                             QueryDevice device, const GpuOptions& options, Progress& progress,
                             const FailoverNotice& notice)
    : shards_(shards), cpu_(shards, engines) {
  const std::size_t gpus = device == QueryDevice::cpu || options.gpus > 0 ? options.gpus : list_gpus().size();
  auto saying = std::make_shared<std::mutex>();
  const FailoverNotice one_at_a_time = [saying, notice](const std::string& text) {
    const std::lock_guard lock(*saying);
    if (notice) notice(text);
  };
  for (std::size_t i = 0; i < engines.size(); ++i) {
    GpuOptions of_shard = options;
    of_shard.gpu = options.gpu + static_cast<unsigned>(i % std::max<std::size_t>(1, gpus));
    of_shard.gpus = 1;
    engines_.push_back(std::make_unique<FailoverEngine>(*engines[i], device, of_shard, progress, one_at_a_time));
  }
}

bool ShardedEngine::on_gpus(const ShardFilters& passing) const {
  bool any = false;
  for (std::size_t shard = 0; shard < engines_.size(); ++shard)
    any |= engines_[shard]->on_gpus(passing_of(passing, shard));
  return any;
}

std::unique_ptr<ShardedEngine::Begun> ShardedEngine::begin(std::span<const std::string_view> texts,
                                                           const QueryAlgorithm& algorithm, std::size_t k,
                                                           const ShardFilters& passing) {
  std::unique_ptr<Begun> begun(new Begun(texts, algorithm, k, passing));
  if (!on_gpus(passing)) return begun;
  const QueryAlgorithm& first = begun->wants_all_first() ? algorithm_named("and") : algorithm;
  for (std::size_t shard = 0; shard < engines_.size(); ++shard)
    begun->of_shards_.push_back(engines_[shard]->begin(texts, first, k, passing_of(passing, shard)));
  return begun;
}

ShardedEngine::Found ShardedEngine::found(Begun& begun, unsigned threads, std::span<GpuStatistics> statistics) {
  Found found(shards_);
  for (std::size_t shard = 0; shard < engines_.size(); ++shard)
    found.add(engines_[shard]->answers(*begun.of_shards_[shard], threads, statistics[shard]));
  return found;
}

void ShardedEngine::find_any(const Begun& begun, unsigned threads, std::span<GpuStatistics> statistics, Found& found) {
  std::vector<std::size_t> queries;
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < begun.texts_.size(); ++i) {
    if (found.documents(i) >= begun.k_) continue;
    queries.push_back(i);
    texts.push_back(begun.texts_[i]);
  }
  if (queries.empty()) return;
  Begun again(texts, algorithm_named("auto"), begun.k_, begun.passing_);
  for (std::size_t shard = 0; shard < engines_.size(); ++shard)
    again.of_shards_.push_back(
        engines_[shard]->begin(texts, again.algorithm_, begun.k_, passing_of(begun.passing_, shard)));
  Found any = this->found(again, threads, statistics);
  for (std::size_t i = 0; i < queries.size(); ++i) found.replace(queries[i], any, i);
}

void ShardedEngine::finish_on_cpu(const Begun& begun, unsigned threads, const BatchSteps& steps,
                                  std::uint64_t held_bytes) const {
  tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return cpu_.make_analyzer(); });
  const auto answer = [&](std::size_t i, QueryAnswer& out) {
    const auto started = WallClock::now();
    out.documents =
        cpu_.search(begun.texts_[i], begun.algorithm_, begun.k_, analyzers.local(), &out.statistics, begun.passing_);
    out.time_us = us_since(started);
    if (steps.render) steps.render(i, out);
  };
  answer_in_batches<QueryAnswer>(begun.texts_.size(), threads, held_bytes, answer, answer_bytes, steps.take);
}

void ShardedEngine::finish(Begun& begun, unsigned threads, const BatchSteps& steps, std::span<GpuStatistics> statistics,
                           std::uint64_t held_bytes) {
  with_own_errors([&] {
    if (begun.of_shards_.empty()) return finish_on_cpu(begun, threads, steps, held_bytes);
    Found all = found(begun, threads, statistics);
    if (begun.wants_all_first()) find_any(begun, threads, statistics, all);
    const auto answer = [&](std::size_t i, QueryAnswer& out) {
      all.merge(i, begun.k_, out);
      if (steps.render) steps.render(i, out);
    };
    answer_in_batches<QueryAnswer>(begun.texts_.size(), threads, held_bytes, answer, answer_bytes, steps.take);
  });
}

std::size_t ShardedEngine::queries_at_once(std::size_t k, std::uint64_t held_bytes) const {
  const std::uint64_t results = std::min<std::uint64_t>(k, shards_.num_documents()) * sizeof(ScoredDocument);
  const std::uint64_t query_bytes = shards_.size() * (sizeof(QueryAnswer) + results);
  std::size_t most = engines_.front()->queries_per_search();
  for (const auto& engine : engines_) most = std::min(most, engine->queries_per_search());
  return std::clamp<std::uint64_t>(held_bytes / groups_begun / query_bytes, 1, most);
}

void ShardedEngine::run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
                        unsigned threads, const BatchSteps& steps, std::span<GpuStatistics> statistics,
                        std::uint64_t held_bytes, const ShardFilters& passing) {
  struct Group {
    std::size_t first;
    std::unique_ptr<Begun> begun;
  };
  std::deque<Group> groups;
  // Half is for what GPUs find, half for what waits to be handed over.
  const std::size_t at_once = on_gpus(passing) ? queries_at_once(k, held_bytes / 2) : texts.size();
  std::size_t next = 0;
  while (next < texts.size() || !groups.empty()) {
    for (; next < texts.size() && groups.size() < groups_begun; next += at_once)
      groups.push_back(
          {next, begin(texts.subspan(next, std::min(at_once, texts.size() - next)), algorithm, k, passing)});
    const Group group = std::move(groups.front());
    groups.pop_front();
    BatchSteps of_all;
    if (steps.render)
      of_all.render = [&](std::size_t i, QueryAnswer& answer) { steps.render(group.first + i, answer); };
    of_all.take = [&](std::size_t i, const QueryAnswer& answer) { steps.take(group.first + i, answer); };
    finish(*group.begun, threads, of_all, statistics, held_bytes / 2);
  }
}

}  // namespace quern
