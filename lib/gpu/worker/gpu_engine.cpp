#include "quern/gpu/worker/gpu_engine.hpp"

#include <tbb/parallel_for.h>

#include <numeric>

#include "quern/gpu/device/in_parallel.hpp"

namespace quern {
namespace {

/// A query runs again if it has too many candidates. Each run raises its threshold, so that a few runs are enough.
constexpr unsigned max_attempts = 4;
/// Queries whose lists a thread finds at a time: about 20 microseconds of work, so that threads that wake late do less.
constexpr std::size_t queries_per_block = 16;
/// Best number of queries per concurrent search of a shard where an additional batch costs little: with more, GPUs
/// begin later, and idle while the results of the last queries are merged; with fewer, kernels are less efficient.
constexpr std::size_t queries_per_small_search = 2048;

/// Counts a search while it is under way.
class UnderWay {
 public:
  explicit UnderWay(std::atomic<unsigned>& searches) : searches_(searches) { ++searches_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { --searches_; }

 private:
  std::atomic<unsigned>& searches_;
};

gpu::Pruning pruning_of(const QueryAlgorithm& algorithm, const QueryEngine& engine) {
  if (!engine.scoring_context().bounds_hold || algorithm.name == "or") return gpu::Pruning::none;
  return algorithm.name == "wand" ? gpu::Pruning::lists : gpu::Pruning::blocks;
}

void check_batch(std::size_t queries) { check_range("queries per batch", queries, 1, gpu::max_batch_queries); }

void check_strategy_options(const gpu::StrategyOptions& options) {
  for (const auto& [name, threads] : {std::pair("partitions", options.partitions), {"a round", options.round}})
    if (!gpu::are_block_threads(threads))
      throw InvalidArgument("{} must be a multiple of {} from {} to {}, not {}", name, gpu::min_block_threads,
                            gpu::min_block_threads, gpu::max_block_threads, threads);
}

}  // namespace

/// A search, which threads answer in steps.
struct GpuEngine::Search {
  std::span<const QueryView> queries;
  const QueryAlgorithm& algorithm;
  std::size_t k;
  const DocumentSet* passing;
  std::uint64_t passing_number;
  std::vector<std::vector<ScoredDocument>> results;

  gpu::BatchWork work(bool intersect, gpu::Pruning pruning) const {
    return {intersect, pruning, k, passing, passing_number};
  }
};

const GpuOptions& check_gpu_options(const GpuOptions& options) {
  check_range("the GPU's number", options.gpu, 0, gpu::max_gpus);
  check_range("GPUs", options.gpus, 0, gpu::max_gpus);
  check_batch(options.batch_queries);
  check_strategy_options(options.strategy_options);
  return options;
}

std::vector<std::size_t> step_sizes(std::size_t queries) {
  if (queries < 2 * gpu::first_step_queries) return {queries};
  return {gpu::first_step_queries, queries - gpu::first_step_queries};
}

GpuEngine::GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress)
    : engine_(engine),
      options_(check_gpu_options(options)),
      lists_([] { return std::make_unique<QueryLists>(); }),
      workers_(gpu::make_workers<RankingWorker>(
          gpu::gpu_numbers(options.gpu, options.gpus), progress, [&](unsigned gpu, Progress& all) {
            const std::size_t gpus = gpu::gpu_numbers(options.gpu, options.gpus).size();
            return std::make_unique<RankingWorker>(engine, gpu, options.memory.per_gpu(gpus), *options.strategy,
                                                   options.strategy_options, options.batch_queries, all);
          })) {
  keeps_all_ = workers_.front().keeps_all();
}

void GpuEngine::set_batch_queries(std::size_t queries) {
  check_batch(queries);
  options_.batch_queries = queries;
}

void GpuEngine::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress) {
  check_strategy_options(options);
  options_.strategy = &strategy;
  workers_.for_each([&](RankingWorker& worker) { worker.set_strategy(strategy, options, progress); });
  if (workers_.size() > 0) keeps_all_ = workers_.front().keeps_all();
}

std::vector<GpuQuery> GpuEngine::prepare(std::span<const QueryView> asked, const QueryAlgorithm& algorithm,
                                         std::size_t k, QueryLists& lists) const {
  std::vector<GpuQuery> queries(asked.size());
  const std::size_t count = (asked.size() + queries_per_block - 1) / queries_per_block;
  if (lists.size() < count) lists.resize(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t block) {
    const std::size_t first = block * queries_per_block, some = std::min(queries_per_block, asked.size() - first);
    const auto own = std::span(queries).subspan(first, some);
    std::vector<WeightedList>& found = lists[block];
    found.clear();
    std::array<std::size_t, queries_per_block + 1> first_lists{};
    for (std::size_t i = 0; i < some; ++i) {
      engine_.append_lists(asked[first + i], own[i].all_found, found);
      first_lists[i + 1] = found.size();
    }
    for (std::size_t i = 0; i < some; ++i) {
      GpuQuery& query = own[i];
      query.number = first + i;
      query.lists = std::span(found).subspan(first_lists[i], first_lists[i + 1] - first_lists[i]);
      if (engine_.quantizer()) engine_.check_sums(query.lists);
      for (const WeightedList& list : query.lists) query.postings += list.list.df;
      query.answered = query.lists.empty() || (algorithm.matching != Matching::any && !query.all_found);
      query.on_cpu = !query.lists.empty() && (query.lists.size() > gpu::max_terms || k > gpu::max_results);
    }
  });
  return queries;
}

std::vector<std::vector<ScoredDocument>> GpuEngine::search(std::span<const QueryView> queries,
                                                           const QueryAlgorithm& algorithm, std::size_t k,
                                                           GpuStatistics* statistics, const DocumentSet* passing) {
  check_range("k", k, 1, end_docid);
  engine_.check_passing(passing);
  check_whole_results(engine_.index(), algorithm);
  if (passing != nullptr) gpu::check_filters(*options_.strategy);
  const QueryAlgorithm* const algorithms[] = {&algorithm};
  gpu::check_answers(*options_.strategy, algorithms);
  const UnderWay under_way(searches_);
  Search search{queries, algorithm, k, passing, passing == nullptr ? 0 : ++filtered_searches_, {}};
  search.results.resize(queries.size());
  GpuStatistics all;
  all.queries = queries.size();
  std::mutex mutex;  // of `all`
  const auto steps = keeps_all_ ? step_sizes(queries.size()) : std::vector<std::size_t>{queries.size()};
  std::atomic<std::size_t> next_step = 0;
  const auto answer_steps = [&] {
    for (std::size_t step = next_step++; step < steps.size(); step = next_step++) {
      GpuStatistics counted;
      try {
        const auto own = steps.begin() + static_cast<std::ptrdiff_t>(step);
        answer_step(search, std::accumulate(steps.begin(), own, std::size_t{0}), *own, counted);
      } catch (...) {
        next_step = steps.size();
        throw;
      }
      const std::lock_guard lock(mutex);
      all += counted;
    }
  };
  // One thread finds lists while GPUs work for another.
  gpu::HelperThreads helpers(steps.size() - 1, answer_steps);
  helpers.start();
  answer_steps();
  helpers.join();
  if (statistics) *statistics = std::move(all);
  return std::move(search.results);
}

std::size_t GpuEngine::queries_per_search() const {
  return keeps_all_ ? std::min(options_.batch_queries, queries_per_small_search) : options_.batch_queries;
}

std::uint64_t GpuEngine::missing_bytes(std::span<const WeightedList> lists) {
  if (keeps_all_) return 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> failed;  // stays empty, since nothing here calls a GPU
  try {
    workers_.use(
        gpus(), [&](RankingWorker& worker) { bytes = worker.missing_bytes(lists); }, failed);
  } catch (const CudaError&) {
    // No GPU is left.
  }
  return bytes;
}

void GpuEngine::answer_step(Search& search, std::size_t first, std::size_t count, GpuStatistics& statistics) {
  const auto asked = search.queries.subspan(first, count);
  const QueryAlgorithm& algorithm = search.algorithm;
  const std::size_t k = search.k;
  const auto lists = lists_.borrow();
  const auto started = WallClock::now();
  std::vector<GpuQuery> queries = prepare(asked, algorithm, k, *lists);
  statistics.prepare_us += us_since(started);

  if (algorithm.matching == Matching::all_else_any) {
    answer(queries, search.work(true, gpu::Pruning::none), statistics);
    for (GpuQuery& query : queries)
      if (!query.on_cpu && query.documents.size() < k) query.answered = query.lists.empty();
    answer(queries, search.work(false, pruning_of(algorithm, engine_)), statistics);
  } else {
    const bool intersect = algorithm.matching == Matching::all;
    answer(queries, search.work(intersect, intersect ? gpu::Pruning::none : pruning_of(algorithm, engine_)),
           statistics);
  }

  answer_on_cpu(search, asked, queries);
  for (const GpuQuery& query : queries) statistics.on_cpu += query.on_cpu;
  gpu::in_parallel(count, [&](std::size_t i) { search.results[first + i] = std::move(queries[i].documents); });
}

void GpuEngine::answer_on_cpu(const Search& search, std::span<const QueryView> asked,
                              std::span<GpuQuery> queries) const {
  if (std::none_of(queries.begin(), queries.end(), [](const GpuQuery& query) { return query.on_cpu; })) return;
  tbb::parallel_for(std::size_t{0}, queries.size(), [&](std::size_t i) {
    GpuQuery& query = queries[i];
    if (query.on_cpu)
      query.documents = engine_.search(asked[query.number], search.algorithm, search.k, nullptr, search.passing);
  });
}

void GpuEngine::answer(std::span<GpuQuery> all, const gpu::BatchWork& work, GpuStatistics& statistics) {
  std::vector<GpuQuery*> queries;
  for (GpuQuery& query : all) {
    query.min_units = 0;
    if (!query.answered && !query.on_cpu) queries.push_back(&query);
  }
  const std::size_t max_batch =
      keeps_all_ ? std::min(options_.batch_queries, gpu::overlapping_batch_queries) : options_.batch_queries;
  const std::uint64_t fixed_cost = engine_.index().num_documents() / gpu::documents_per_posting;
  gpu::ResumePool cpu(engine_, work.k, work.passing);
  for (unsigned attempt = 0; attempt < max_attempts && !queries.empty(); ++attempt) {
    QueryQueue queue(std::move(queries), max_batch, gpus(), fixed_cost, searches_ > 1 ? gpu::min_divided_queries : 1);
    queries = process(queue, {work, &cpu}, statistics);
    if (attempt == 0) statistics.run_again += queries.size();
  }
  for (GpuQuery* query : queries) query->on_cpu = true;
  cpu.wait();
  statistics.resumed += cpu.queries();
  statistics.resume_us += cpu.time_us();
}

std::vector<GpuQuery*> GpuEngine::process(QueryQueue& queue, const RankingWork& work, GpuStatistics& statistics) {
  std::vector<GpuQuery*> again;
  std::mutex mutex;  // of `again` and `statistics`
  const auto answer = [&](const std::function<void()>& more) {
    RankingOutcome outcome;
    answer_batches(queue, work, outcome, more);
    const std::lock_guard lock(mutex);
    statistics += outcome.statistics;
    again.insert(again.end(), outcome.again.begin(), outcome.again.end());
  };
  // One thread makes a batch while others wait for theirs.
  gpu::HelperThreads helpers(gpu::batches_in_flight * gpus(), [&] { answer([] {}); });
  answer([&] { helpers.start(); });
  helpers.join();
  return again;
}

void GpuEngine::answer_batches(QueryQueue& queue, const RankingWork& work, RankingOutcome& outcome,
                               const std::function<void()>& more) {
  for (auto taken = queue.take(); !taken.empty(); taken = queue.take()) {
    std::span<GpuQuery* const> left = taken;
    bool settled = false;
    const auto launched = [&](std::size_t count) {
      // A relaunched batch keeps its queries.
      if (std::exchange(settled, true)) return;
      queue.settle(left.subspan(count));
      left = left.first(count);
      if (!queue.empty()) more();
    };
    const auto answer_first = [&](RankingWorker& worker) {
      left = left.subspan(worker.answer(left, work, outcome, launched));
    };
    try {
      if (!queue.empty()) more();
      while (!left.empty()) workers_.use(gpus(), answer_first, outcome.statistics.failed_gpus);
    } catch (...) {
      queue.stop();
      if (!settled) queue.settle({});
      throw;
    }
  }
}

}  // namespace quern
