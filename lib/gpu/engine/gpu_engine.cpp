#include "quern/gpu/engine/gpu_engine.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/common/tuning.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/engine/copy_progress.hpp"
#include "quern/gpu/engine/in_parallel.hpp"
#include "quern/gpu/engine/query_batch.hpp"

namespace quern {
namespace {

/// Too many documents come into question for a query only until its threshold is near the k-th score.
constexpr unsigned max_runs = 4;

gpu::Pruning pruning_of(const QueryAlgorithm& algorithm, const QueryEngine& engine) {
  if (!engine.scoring_context().bounds_hold || algorithm.name == "or") return gpu::Pruning::none;
  return algorithm.name == "wand" ? gpu::Pruning::lists : gpu::Pruning::blocks;
}

/// Calls work(i) for 0 <= i < count, each in a thread of its own but for the first, and waits for all. What each threw,
/// or null.
template <class Do>
std::vector<std::exception_ptr> in_threads(std::size_t count, const Do& work) {
  std::vector<std::exception_ptr> thrown(count);
  const auto run = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(run, i);
  if (count > 0) run(0);
  threads.clear();
  return thrown;
}

}  // namespace

std::vector<unsigned> GpuEngine::numbers_of(const GpuOptions& options) {
  if (!built_with_cuda())
    throw CudaError("this program was built without CUDA; build it with QUERN_CUDA=ON, or ask for --device cpu");
  const std::size_t there = list_gpus().size();
  if (there == 0) throw CudaError("this machine has no GPU that CUDA can use; ask for --device cpu");
  const std::size_t end = options.gpus == 0 ? there : std::size_t{options.gpu} + options.gpus;
  if (options.gpu >= there || end > there)
    throw InvalidArgument(fmt::format("there is no GPU {}: this machine has {}, counted from 0",
                                      std::max<std::size_t>(options.gpu, there), there));
  std::vector<unsigned> numbers;
  for (unsigned number = options.gpu; number < end; ++number) numbers.push_back(number);
  return numbers;
}

GpuEngine::GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress)
    : engine_(engine), options_(options), analyzers_([&engine] { return engine.make_analyzer(); }) {
  const std::vector<unsigned> numbers = numbers_of(options);
  shares_.resize(numbers.size());
  CopyProgress all(progress, numbers.size());
  const auto copy = [&](std::size_t i) {
    shares_[i] = std::make_unique<GpuShare>(engine, numbers[i], *options.strategy, options.of_strategy, all);
  };
  for (const std::exception_ptr& error : in_threads(numbers.size(), copy))
    if (error) std::rethrow_exception(error);
  used_ = shares_.size();
}

void GpuEngine::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress) {
  for (const std::unique_ptr<GpuShare>& share : shares_) share->set_strategy(strategy, options, progress);
}

std::vector<GpuQuery> GpuEngine::prepare(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                                         std::size_t k) {
  std::vector<GpuQuery> queries(texts.size());
  gpu::in_parallel(texts.size(), [&](std::size_t i) {
    GpuQuery& query = queries[i];
    query.number = i;
    query.lists = engine_.lists_of(analyzers_.local().terms(texts[i]), query.all_found);
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
  GpuStatistics counted;
  counted.queries = texts.size();
  const auto begun = WallClock::now();
  std::vector<GpuQuery> queries = prepare(texts, algorithm, k);
  counted.prepare_us += us_since(begun);

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
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    results[i] = std::move(queries[i].documents);
    queries[i] = {};  // freeing its lists takes as long as finding them
  });
  if (statistics) *statistics = std::move(counted);
  return results;
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
  for (unsigned run = 0; run < max_runs && !queries.empty(); ++run) {
    QueryQueue queue(std::move(queries), options_.batch_queries, gpus, fixed_cost);
    queries = run_shares(queue, work, statistics);
    if (run == 0) statistics.run_again += queries.size();
  }
  for (GpuQuery* query : queries) query->on_cpu = true;
}

std::vector<GpuQuery*> GpuEngine::run_shares(QueryQueue& queue, const gpu::BatchWork& work, GpuStatistics& statistics) {
  std::vector<GpuQuery*> again;
  // Once more where a GPU failed when the others had ended.
  while (!queue.empty()) {
    if (shares_.empty()) throw CudaError("no GPU is left that has not failed; ask for --device cpu");
    const std::size_t busy = std::min({used_, shares_.size(), queue.batches()});
    std::vector<ShareOutcome> outcomes(busy);
    const auto thrown = in_threads(busy, [&](std::size_t i) { shares_[i]->answer(queue, work, outcomes[i]); });
    for (ShareOutcome& outcome : outcomes) {
      statistics += outcome.statistics;
      again.insert(again.end(), outcome.again.begin(), outcome.again.end());
    }
    for (std::size_t i = busy; i-- > 0;) {
      if (!thrown[i]) continue;
      try {
        std::rethrow_exception(thrown[i]);
      } catch (const CudaError& error) {
        statistics.failed_gpus.push_back(fmt::format("GPU {} is left out: {}", shares_[i]->gpu(), error.what()));
        shares_.erase(shares_.begin() + static_cast<std::ptrdiff_t>(i));
        if (shares_.empty()) throw;
      }
    }
  }
  return again;
}

}  // namespace quern
