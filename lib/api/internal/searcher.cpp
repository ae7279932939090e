#include "quern/api/searcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/scoring_options.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/check_range.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/query/query_engine.hpp"

namespace quern::api {
namespace {

QueryDevice query_device(Device device) {
  switch (device) {
    case Device::cpu:
      return QueryDevice::cpu;
    case Device::gpu:
      return QueryDevice::gpu;
    case Device::automatic:
      return QueryDevice::automatic;
  }
  throw InvalidArgument("unknown device");
}

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
      for (const ScoredDocument& document : answer.documents) {
        results_.docids.push_back(document.docid);
        results_.scores.push_back(document.score);
      }
      results_.offsets.push_back(results_.docids.size());
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
    FailoverNotice notice = placement.notice;
    if (!notice) notice = [](const std::string&) {};
    batches.emplace(engine, device, gpu_options(placement, plan), *resources->progress, std::move(notice));
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
                                  SearchStatistics* statistics) const {
  return with_api_errors([&] {
    check_k(k);
    const auto analyzer = impl_->index.impl()->analyzers.borrow();
    QueryStatistics counted;
    const auto documents = impl_->engine.search(text, algorithm_of(algorithm), k, *analyzer, &counted);
    if (statistics != nullptr) add(*statistics, counted);
    std::vector<Hit> hits;
    hits.reserve(documents.size());
    for (const ScoredDocument& document : documents) hits.push_back({document.docid, document.score});
    return hits;
  });
}

BatchResults Searcher::batch(std::span<const std::string_view> texts, const BatchOptions& options,
                             const Work& work) const {
  return with_api_errors([&] {
    check_k(options.k);
    WorkResources resources(work, {});
    const unsigned threads = work.threads != 0 ? resources->threads : impl_->resources->threads;
    resources.progress().start("query", texts.size(), "queries");
    BatchCollection collection(texts.size(), options.k, resources.progress());
    GpuStatistics of_gpus;
    std::unique_lock lock(impl_->gpu_mutex, std::defer_lock);
    if (impl_->device != QueryDevice::cpu) lock.lock();
    impl_->batches->run(texts, algorithm_of(options.algorithm), options.k, threads, collection.steps(), of_gpus);
    resources.progress().finish();
    return collection.take(of_gpus);
  });
}

}  // namespace quern::api
