#include "quern/api/searcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/filter_impl.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/option_names.hpp"
#include "quern/api/internal/query_device.hpp"
#include "quern/api/internal/query_terms.hpp"
#include "quern/api/internal/scoring_options.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/check_range.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/query_engine.hpp"

namespace quern::api {
namespace {

GpuOptions gpu_options(const Placement& placement, const std::optional<CachePlan>& plan) {
  GpuOptions options;
  options.gpu = placement.gpu;
  options.gpus = placement.gpus;
  if (!placement.strategy.empty()) options.strategy = &gpu::strategy_named(placement.strategy);
  if (placement.gpu_memory_bytes != 0) options.memory.bytes = placement.gpu_memory_bytes;
  if (plan) options.memory.plan = &*plan;
  return options;
}

const QueryAlgorithm& algorithm_of(std::string_view name) {
  return name.empty() ? all_algorithms().front() : algorithm_named(name);
}

void check_k(std::size_t k) { check_range("k", k, 1, end_docid); }

void add(SearchStatistics& to, const QueryStatistics& from) {
  ++to.queries;
  to.postings += from.postings;
  to.postings_scored += from.postings_scored;
  to.blocks += from.blocks;
  to.blocks_decoded += from.blocks_decoded;
  to.stopped_early += from.stopped_early;
}

QueryMemory query_memory(const Work& work, unsigned threads) {
  return work.memory_bytes == 0 ? QueryMemory() : QueryMemory(work.memory_bytes / 8 * 3, threads);
}

const DocumentSet* passing_of(const Filter* filter) { return filter == nullptr ? nullptr : &filter->impl()->passing; }

std::vector<Hit> hits_of(std::span<const ScoredDocument> documents) {
  std::vector<Hit> hits;
  hits.reserve(documents.size());
  for (const ScoredDocument& document : documents) hits.push_back({document.docid, document.score});
  return hits;
}

/// What the results of a batch may take of the machine's memory: they may be copied as they grow.
std::uint64_t most_result_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) /
         4;
}

/// Collects the answers of a batch, which come in the order of the queries.
class BatchCollection {
 public:
  BatchCollection(std::size_t queries, std::size_t k, WorkProgress& progress)
      : progress_(progress), most_results_(most_result_bytes() / sizeof(Hit)) {
    results_.offsets.reserve(queries + 1);
    results_.offsets.push_back(0);
    constexpr std::size_t most_reserved = std::size_t{1} << 24;
    const std::size_t expected = std::min(queries * std::min(k, most_reserved), most_reserved);
    results_.docids.reserve(expected);
    results_.scores.reserve(expected);
  }

  BatchSteps steps() {
    BatchSteps steps;
    steps.take = [this](std::size_t query, const QueryAnswer& answer) {
      if (answer.documents.size() > most_results_ - results_.docids.size())
        throw quern::InvalidArgument(
            fmt::format("the results of {} queries fill a quarter of this machine's memory; ask for fewer queries at a "
                        "time, or a smaller k",
                        query));
      append(answer.documents);
      add(results_.statistics, answer.statistics);
      progress_.add(1);
    };
    return steps;
  }
  BatchResults take(const GpuStatistics& of_gpus) {
    results_.statistics.on_gpu = of_gpus.queries;
    return std::move(results_);
  }

 private:
  void append(std::span<const ScoredDocument> documents) {
    const std::size_t first = results_.docids.size();
    results_.docids.resize(first + documents.size());
    results_.scores.resize(first + documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      results_.docids[first + i] = documents[i].docid;
      results_.scores[first + i] = documents[i].score;
    }
    results_.offsets.push_back(results_.docids.size());
  }

  WorkProgress& progress_;
  std::uint64_t most_results_;
  BatchResults results_;
};

}  // namespace

std::vector<std::string> algorithms() {
  return with_api_errors([] { return names_of(all_algorithms()); });
}

std::vector<std::string> strategies() {
  return with_api_errors([] { return names_of(gpu::all_strategies()); });
}

struct Searcher::Impl {
  Impl(const Index& searched, const Scoring& scoring, const Placement& placement, const Work& work)
      : index(searched),
        resources(work, {}),
        device(query_device(placement.device)),
        engine(index.impl()->reader, scoring_options(scoring, index.impl()->reader), resources->threads,
               query_memory(work, resources->threads)) {
    if (!placement.plan.empty()) {
      plan.emplace(PlanReader::open(placement.plan).load_for(index.impl()->reader));
    }
    batches.emplace(engine, device, gpu_options(placement, plan), *resources->progress,
                    with_program_names(placement.notice));
  }

  /// The collected answers of run(steps, threads), which returns what GPUs did.
  template <class Run>
  BatchResults answer(std::size_t queries, const BatchOptions& options, const Work& work, Run&& run) const {
    check_k(options.k);
    WorkResources own(work, {});
    own.progress().start("query", queries, "queries");
    BatchCollection collection(queries, options.k, own.progress());
    const GpuStatistics of_gpus = run(collection.steps(), work.threads != 0 ? own->threads : resources->threads);
    own.progress().finish();
    return collection.take(of_gpus);
  }

  const Index index;
  WorkResources resources;
  QueryDevice device;
  QueryEngine engine;
  std::optional<CachePlan> plan;
  std::optional<FailoverEngine> batches;
  std::mutex gpu_mutex;  ///< held by a batch that GPUs answer
};

Searcher::Searcher(const Index& index, const Scoring& scoring, const Placement& placement, const Work& work)
    : impl_(with_api_errors([&] { return std::make_unique<Impl>(index, scoring, placement, work); })) {}
Searcher::Searcher(Searcher&&) noexcept = default;
Searcher& Searcher::operator=(Searcher&&) noexcept = default;
Searcher::~Searcher() = default;

const Index& Searcher::index() const noexcept { return impl_->index; }

std::vector<Hit> Searcher::search(std::string_view text, std::size_t k, std::string_view algorithm,
                                  SearchStatistics* statistics, const Filter* filter) const {
  return with_api_errors([&] {
    check_k(k);
    const auto analyzer = impl_->index.impl()->analyzers.borrow();
    QueryStatistics counted;
    const auto documents =
        impl_->engine.search(text, algorithm_of(algorithm), k, *analyzer, &counted, passing_of(filter));
    if (statistics != nullptr) add(*statistics, counted);
    return hits_of(documents);
  });
}

std::vector<Hit> Searcher::search(std::span<const WeightedTerm> terms, std::size_t k, std::string_view algorithm,
                                  SearchStatistics* statistics, const Filter* filter) const {
  return with_api_errors([&] {
    check_k(k);
    QueryStatistics counted;
    const auto documents =
        impl_->engine.search(query_terms(terms), algorithm_of(algorithm), k, &counted, passing_of(filter));
    if (statistics != nullptr) add(*statistics, counted);
    return hits_of(documents);
  });
}

BatchResults Searcher::batch(std::span<const std::string_view> texts, const BatchOptions& options,
                             const Work& work) const {
  return with_api_errors([&] {
    return impl_->answer(texts.size(), options, work, [&](const BatchSteps& steps, unsigned threads) {
      GpuStatistics of_gpus;
      std::unique_lock lock(impl_->gpu_mutex, std::defer_lock);
      if (impl_->device != QueryDevice::cpu) lock.lock();
      impl_->batches->run(texts, algorithm_of(options.algorithm), options.k, threads, steps, of_gpus,
                          default_held_bytes, passing_of(options.filter));
      return of_gpus;
    });
  });
}

BatchResults Searcher::batch(std::span<const std::vector<WeightedTerm>> queries, const BatchOptions& options,
                             const Work& work) const {
  return with_api_errors([&] {
    std::vector<std::vector<QueryTerm>> vectors;
    vectors.reserve(queries.size());
    for (const std::vector<WeightedTerm>& query : queries) vectors.push_back(query_terms(query));
    if (impl_->device == QueryDevice::cpu)
      return impl_->answer(vectors.size(), options, work, [&](const BatchSteps& steps, unsigned threads) {
        run_batch(impl_->engine, vectors, algorithm_of(options.algorithm), options.k, threads, steps,
                  default_held_bytes, passing_of(options.filter));
        return GpuStatistics();
      });
    if (impl_->engine.options().text != QueryText::vector)
      throw InvalidArgument("this searcher's GPUs read queries as texts; make one for vectors");
    std::vector<std::string> texts;
    std::vector<std::string_view> views;
    for (const std::vector<QueryTerm>& vector : vectors) {
      static_cast<void>(impl_->engine.weighted(vector));  // throws for weights that can't be
      texts.push_back(query_vector_text(vector));
    }
    views.assign(texts.begin(), texts.end());
    return batch(views, options, work);
  });
}

}  // namespace quern::api
