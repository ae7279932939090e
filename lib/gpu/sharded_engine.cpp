#include "quern/gpu/sharded_engine.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <numeric>

#include "quern/core/run_stage.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/query/best_of_shards.hpp"

namespace quern {

struct ShardedEngine::Group {
  std::span<const std::string_view> texts;
  std::size_t k = 0;
  unsigned threads = 1;
  const ShardFilters& passing;
  std::span<GpuStatistics> statistics;  ///< of each shard
  std::vector<QueryAnswer> answers;

  const DocumentSet* passing_of(std::size_t shard) const { return passing.empty() ? nullptr : passing[shard]; }
};

ShardedEngine::ShardedEngine(const IndexShards& shards, std::span<const std::unique_ptr<QueryEngine>> engines,
                             QueryDevice device, const GpuOptions& options, Progress& progress,
                             const FailoverNotice& notice)
    : shards_(shards), in_parallel_(device != QueryDevice::cpu) {
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

void ShardedEngine::search_shard(const Group& group, std::size_t shard, std::span<const std::string_view> texts,
                                 const QueryAlgorithm& algorithm, unsigned threads, std::vector<QueryAnswer>& answers,
                                 GpuStatistics& statistics) {
  answers.resize(texts.size());
  BatchSteps steps;
  steps.take = [&](std::size_t i, const QueryAnswer& answer) { answers[i] = answer; };
  engines_[shard]->run(texts, algorithm, group.k, threads, steps, statistics, default_held_bytes,
                       group.passing_of(shard));
}

void ShardedEngine::search(Group& group, std::span<const std::size_t> queries, const QueryAlgorithm& algorithm) {
  std::vector<std::string_view> texts;
  for (const std::size_t query : queries) texts.push_back(group.texts[query]);
  const auto add = [&](std::size_t shard, std::span<const QueryAnswer> answers) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      QueryAnswer& whole = group.answers[queries[i]];
      add_results_of_shard(whole.documents, answers[i].documents, shards_.first_docid(shard), group.k);
      whole.statistics += answers[i].statistics;
      // Shards that work at the same time take as long as the slowest.
      whole.time_us = in_parallel_ ? std::max(whole.time_us, answers[i].time_us) : whole.time_us + answers[i].time_us;
    }
  };
  if (!in_parallel_) {
    std::vector<QueryAnswer> answers;
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      search_shard(group, shard, texts, algorithm, group.threads, answers, group.statistics[shard]);
      add(shard, answers);
    }
    return;
  }
  struct OfShard {
    std::vector<QueryAnswer> answers;
    std::future<void> done;
  };
  std::vector<OfShard> shards(engines_.size());
  const auto threads = static_cast<unsigned>(std::max<std::size_t>(1, group.threads / shards.size()));
  for (std::size_t i = 0; i < shards.size(); ++i)
    shards[i].done = std::async(std::launch::async, [&, i] {
      search_shard(group, i, texts, algorithm, threads, shards[i].answers, group.statistics[i]);
    });
  std::exception_ptr thrown;
  for (OfShard& shard : shards) {
    try {
      shard.done.get();
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  for (std::size_t i = 0; i < shards.size(); ++i) add(i, shards[i].answers);
}

void ShardedEngine::run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
                        unsigned threads, const BatchSteps& steps, std::span<GpuStatistics> statistics,
                        std::uint64_t held_bytes, const ShardFilters& passing) {
  const std::uint64_t found = std::min<std::uint64_t>(k, shards_.num_documents());
  // The whole's, and those of each shard while they are found.
  const std::uint64_t query_bytes = (1 + shards_.size()) * (sizeof(QueryAnswer) + found * sizeof(ScoredDocument));
  const std::size_t at_once = std::clamp<std::uint64_t>(held_bytes / query_bytes, 1, std::uint64_t{1} << 16);
  for (std::size_t first = 0; first < texts.size(); first += at_once) {
    Group group{texts.subspan(first, std::min(at_once, texts.size() - first)), k, threads, passing, statistics, {}};
    group.answers.resize(group.texts.size());
    std::vector<std::size_t> queries(group.texts.size());
    std::iota(queries.begin(), queries.end(), std::size_t{0});
    const bool wants_all_first = algorithm.matching == Matching::all_else_any;
    search(group, queries, wants_all_first ? algorithm_named("and") : algorithm);
    if (wants_all_first) {
      std::erase_if(queries, [&](std::size_t query) { return group.answers[query].documents.size() >= k; });
      for (const std::size_t query : queries) group.answers[query].documents.clear();
      search(group, queries, algorithm_named("auto"));
    }
    if (steps.render)
      on_threads(threads, [&] {
        tbb::parallel_for(std::size_t{0}, group.answers.size(),
                          [&](std::size_t i) { steps.render(first + i, group.answers[i]); });
      });
    for (std::size_t i = 0; i < group.answers.size(); ++i) {
      steps.take(first + i, group.answers[i]);
      group.answers[i] = {};
    }
  }
}

}  // namespace quern
