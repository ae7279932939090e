#include "quern/gpu/engine/gpu_engine.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <memory>

#include "quern/core/check_range.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/pipeline.hpp"
#include "quern/gpu/engine/query_batch.hpp"

namespace quern {
namespace {

/// A query runs again if it has too many candidates. Each run raises its threshold, so that a few runs are enough.
constexpr unsigned max_runs = 4;
/// Whose lists a thread finds at a time.
constexpr std::size_t queries_at_once = 64;

gpu::Pruning pruning_of(const QueryAlgorithm& algorithm, const QueryEngine& engine) {
  if (!engine.scoring_context().bounds_hold || algorithm.name == "or") return gpu::Pruning::none;
  return algorithm.name == "wand" ? gpu::Pruning::lists : gpu::Pruning::blocks;
}

const GpuOptions& checked(const GpuOptions& options) {
  check_gpu_options(options);
  return options;
}

void check_batch(std::size_t queries) { check_range("queries per batch", queries, 1, gpu::max_batch_queries); }

void check_partitions(const gpu::StrategyOptions& options) {
  if (!gpu::are_partitions(options.partitions))
    throw InvalidArgument(fmt::format("partitions must be a multiple of {} from {} to {}, not {}", gpu::min_partitions,
                                      gpu::min_partitions, gpu::max_partitions, options.partitions));
}

}  // namespace

void check_gpu_options(const GpuOptions& options) {
  check_range("the number of the GPU", options.gpu, 0, gpu::max_gpus);
  check_range("GPUs", options.gpus, 0, gpu::max_gpus);
  check_batch(options.batch_queries);
  check_partitions(options.strategy_options);
}

GpuEngine::GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress) try
    : engine_(engine),
      options_(checked(options)),
      analyzers_([&engine] { return engine.make_analyzer(); }),
      found_terms_(engine.index()),
      shares_(gpu::gpu_numbers(options.gpu, options.gpus), progress,
              [&](unsigned gpu, Progress& all) {
                const std::size_t gpus = gpu::gpu_numbers(options.gpu, options.gpus).size();
                return std::make_unique<RankingShare>(engine, gpu, options.memory.of_each(gpus), *options.strategy,
                                                      options.strategy_options, all);
              }),
      used_(shares_.size()) {
} catch (...) {
  throw_own_error();
}

void GpuEngine::set_batch_queries(std::size_t queries) {
  check_batch(queries);
  options_.batch_queries = queries;
}

void GpuEngine::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress) {
  check_partitions(options);
  options_.strategy = &strategy;
  with_own_errors(
      [&] { shares_.for_each([&](RankingShare& share) { share.set_strategy(strategy, options, progress); }); });
}

void GpuEngine::find_lists(std::span<GpuQuery> queries, std::span<const std::string_view> texts,
                           std::vector<WeightedList>& lists) {
  Analyzer& analyzer = analyzers_.local();
  lists.clear();
  std::array<std::size_t, queries_at_once + 1> first_lists{};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    engine_.append_lists_of(analyzer.terms(texts[i]), queries[i].all_found, &found_terms_, lists);
    first_lists[i + 1] = lists.size();
  }
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries[i].lists = std::span(lists).subspan(first_lists[i], first_lists[i + 1] - first_lists[i]);
}

std::vector<GpuQuery> GpuEngine::prepare(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                                         std::size_t k) {
  std::vector<GpuQuery> queries(texts.size());
  const std::size_t parts = (texts.size() + queries_at_once - 1) / queries_at_once;
  if (lists_.size() < parts) lists_.resize(parts);
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    const std::size_t first = part * queries_at_once, count = std::min(queries_at_once, texts.size() - first);
    find_lists(std::span(queries).subspan(first, count), texts.subspan(first, count), lists_[part]);
  });
  gpu::in_parallel(texts.size(), [&](std::size_t i) {
    GpuQuery& query = queries[i];
    query.number = i;
    if (engine_.quantizer()) engine_.check_sums(query.lists);
    for (const WeightedList& list : query.lists) query.postings += list.list.df;
    query.answered = query.lists.empty() || (algorithm.matching != Matching::any && !query.all_found);
    query.on_cpu = !query.lists.empty() && (query.lists.size() > gpu::max_terms || k > gpu::max_results);
  });
  return queries;
}

std::vector<std::vector<ScoredDocument>> GpuEngine::search(std::span<const std::string_view> texts,
                                                           const QueryAlgorithm& algorithm, std::size_t k,
                                                           GpuStatistics* statistics) {
  check_range("k", k, 1, end_docid);
  const QueryAlgorithm* const algorithms[] = {&algorithm};
  gpu::check_answers(*options_.strategy, algorithms);
  return with_own_errors([&]() -> std::vector<std::vector<ScoredDocument>> {
    GpuStatistics counted;
    counted.queries = texts.size();
    const auto started = WallClock::now();
    std::vector<GpuQuery> queries = prepare(texts, algorithm, k);
    counted.prepare_us += us_since(started);

    if (algorithm.matching == Matching::all_else_any) {
      answer(queries, {true, gpu::Pruning::none, k}, counted);
      for (GpuQuery& query : queries)
        if (!query.on_cpu && query.documents.size() < k) query.answered = query.lists.empty();
      answer(queries, {false, pruning_of(algorithm, engine_), k}, counted);
    } else {
      const bool intersect = algorithm.matching == Matching::all;
      answer(queries, {intersect, intersect ? gpu::Pruning::none : pruning_of(algorithm, engine_), k}, counted);
    }

    answer_on_cpu(texts, queries, algorithm, k);
    for (const GpuQuery& query : queries) counted.on_cpu += query.on_cpu;
    std::vector<std::vector<ScoredDocument>> results(texts.size());
    gpu::in_parallel(queries.size(), [&](std::size_t i) { results[i] = std::move(queries[i].documents); });
    if (statistics) *statistics = std::move(counted);
    return results;
  });
}

void GpuEngine::answer_on_cpu(std::span<const std::string_view> texts, std::span<GpuQuery> queries,
                              const QueryAlgorithm& algorithm, std::size_t k) {
  if (std::none_of(queries.begin(), queries.end(), [](const GpuQuery& query) { return query.on_cpu; })) return;
  tbb::parallel_for(std::size_t{0}, queries.size(), [&](std::size_t i) {
    GpuQuery& query = queries[i];
    if (query.on_cpu) query.documents = engine_.search(texts[query.number], algorithm, k, analyzers_.local());
  });
}

void GpuEngine::answer(std::span<GpuQuery> all, const gpu::BatchWork& work, GpuStatistics& statistics) {
  std::vector<GpuQuery*> queries;
  for (GpuQuery& query : all) {
    query.min_units = 0;
    if (!query.answered && !query.on_cpu) queries.push_back(&query);
  }
  const std::size_t gpus = std::min(used_, shares_.size());
  const std::uint64_t fixed_cost = engine_.index().num_documents() / gpu::documents_per_posting;
  gpu::ResumePool cpu(engine_, work.k);
  shares_.for_each([&](RankingShare& share) { share.set_work(work, cpu); });
  for (unsigned run = 0; run < max_runs && !queries.empty(); ++run) {
    QueryQueue queue(std::move(queries), options_.batch_queries, gpus, fixed_cost,
                     shares_.size() > 0 && shares_.front().keeps_all());
    queries = process(queue, statistics);
    if (run == 0) statistics.run_again += queries.size();
  }
  for (GpuQuery* query : queries) query->on_cpu = true;
  cpu.wait();
  statistics.resumed += cpu.queries();
  statistics.resume_us += cpu.time_us();
}

std::vector<GpuQuery*> GpuEngine::process(QueryQueue& queue, GpuStatistics& statistics) {
  std::vector<GpuQuery*> again;
  const auto collect = [&](RankingShare& share) {
    RankingOutcome outcome = share.take_outcome();
    outcome.statistics.memory = share.memory();
    statistics += outcome.statistics;
    again.insert(again.end(), outcome.again.begin(), outcome.again.end());
  };
  shares_.process(queue, std::min(used_, queue.batches()), collect, statistics.failed_gpus);
  return again;
}

}  // namespace quern
