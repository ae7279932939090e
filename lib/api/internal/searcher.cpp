#include "quern/api/searcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/expansion.hpp"

namespace quern::api {
namespace {

gpu::GpuMemoryOptions memory_options(const Placement& placement) {
  gpu::GpuMemoryOptions options;
  options.bytes = placement.gpu_memory_bytes;
  return options;
}

BackendOptions backend_options(const Placement& placement) {
  BackendOptions options;
  options.device = query_device(placement.device);
  options.gpu.gpu = placement.gpu;
  options.gpu.gpus = placement.gpus;
  if (!placement.strategy.empty()) options.gpu.strategy = &gpu::strategy_named(placement.strategy);
  options.notice = spelled(placement.notice);
  return options;
}

const QueryAlgorithm& algorithm_of(std::string_view name) {
  return name.empty() ? all_algorithms().front() : algorithm_named(name);
}

QueryAlgorithm algorithm_of(std::string_view name, const Budget& budget) {
  return within_budget(algorithm_of(name), {budget.time_us, budget.blocks_left_out});
}

void check_k(std::size_t k) { check_range("k", k, 1, end_docid); }

void add(SearchStatistics& to, const QueryStatistics& query) {
  const QueryStatistics from = without_repeats(query);
  ++to.queries;
  to.postings += from.postings;
  to.postings_scored += from.postings_scored;
  to.blocks += from.blocks;
  to.blocks_decoded += from.blocks_decoded;
  to.stopped_early += from.stopped_early;
  to.unproven += from.bound_left.has_value();
  to.bound_left = std::max(to.bound_left, from.bound_left);
}

/// The documents of a filter, by shard; empty: all.
ShardFilters passing_of(const Filter* filter) {
  return filter == nullptr ? ShardFilters() : ShardFilters(filter->impl()->by_shard);
}

std::uint64_t queries_on_gpu(const QueryBackend& backend) {
  std::uint64_t queries = 0;
  for (const GpuStatistics& gpu : backend.gpu_statistics()) queries += gpu.queries;
  return queries;
}

/// Memory limit for the results of a batch, which may be copied as they grow.
std::uint64_t max_result_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) /
         4;
}

/// Collects the answers of a batch, which come in the order of the queries.
class BatchCollection {
 public:
  BatchCollection(std::size_t queries, std::size_t k, WorkProgress& progress, bool with_budget = false)
      : progress_(progress), max_results_(max_result_bytes() / sizeof(Hit)), with_budget_(with_budget) {
    results_.offsets.reserve(queries + 1);
    results_.offsets.push_back(0);
    constexpr std::size_t max_reserved = std::size_t{1} << 24;
    const std::size_t expected = std::min(queries * std::min(k, max_reserved), max_reserved);
    results_.docids.reserve(expected);
    results_.scores.reserve(expected);
  }

  void add(std::size_t query, const QueryAnswer& answer) {
    if (answer.documents.size() > max_results_ - results_.docids.size())
      throw quern::InvalidArgument(
          fmt::format("the results of {} queries would fill a quarter of this machine's memory; search for fewer "
                      "queries at a time, or lower k",
                      query));
    append(answer.documents);
    if (with_budget_) results_.bounds_left.push_back(answer.statistics.bound_left);
    api::add(results_.statistics, answer.statistics);
    progress_.add(1);
  }
  BatchResults take(std::uint64_t on_gpu) {
    results_.statistics.on_gpu = on_gpu;
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
  std::uint64_t max_results_;
  bool with_budget_;
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
        processors(index.impl()->shards, memory_options(placement), placement.plans, resources->threads) {
    if (work.memory_bytes != 0) processors.limit_queries(work.memory_bytes);
    processors.open_engines([&](const IndexReader& shard) { return scoring_options(scoring, shard); });
    reader.reset(new QueryReader(processors.engines().front()->reader()));
    processors.open_backend(backend_options(placement), nullptr, *resources->progress);
    if (scoring.expand.empty()) return;
    const Expansion expansion = read_expansion(scoring.expand);
    forwards = QueryExpander::open_forwards(index.impl()->shards);
    expander.emplace(expansion, processors.engines(), forwards);
  }

  /// A query as it is searched for on the CPU.
  QueryTerms terms(const Query& query, std::string_view algorithm, QueryStatistics* statistics,
                   const Filter* filter) const {
    QueryTerms terms = read_query(*reader, query, *reader->analyzer());
    if (!expander) return terms;
    return expander->expand(
        terms, processors.backend().cpu().search(terms, algorithm_of(algorithm), expander->documents(), statistics,
                                                 passing_of(filter)));
  }

  /// Throws InvalidArgument if a budget is set and something else than the CPU answers, or answers twice.
  void check(const SearchBudget& budget) const {
    if (!budget.is_set()) return;
    if (expander || &processors.backend().backend() != &processors.backend().cpu())
      throw InvalidArgument("{} and {} need the CPU, without {}", option_name<"budget-us">,
                            option_name<"blocks-left-out">, option_name<"expand">);
  }

  /// Names the query that a batch threw for.
  void refuse_wrong(std::span<const Query> queries, const BatchOptions& options) const {
    check_k(options.k);
    const auto answer = [&](std::size_t query) {
      processors.backend().cpu().search(terms(queries[query], options.algorithm, nullptr, options.filter),
                                        algorithm_of(options.algorithm), options.k, nullptr,
                                        passing_of(options.filter));
    };
    refuse_wrong_query(queries.size(), answer, [](std::size_t query) { return fmt::format("number {}", query + 1); });
  }

  BatchResults answer(std::span<const Query> queries, const BatchOptions& options, const Work& work) {
    check_k(options.k);
    const QueryAlgorithm algorithm = algorithm_of(options.algorithm, options.budget);
    check(algorithm.budget);
    WorkResources own(work, {});
    own.progress().start("query", queries.size(), "queries");
    BatchCollection collection(queries.size(), options.k, own.progress(), algorithm.budget.is_set());
    AnswerConsumer consumer;
    consumer.threads = work.threads != 0 ? own->threads : resources->threads;
    consumer.take = [&](std::size_t query, const QueryAnswer& found) { collection.add(query, found); };
    ParsedQueries parsed = reader->read(queries.size(), consumer.threads, [&](std::size_t i, Analyzer& analyzer) {
      return read_query(*reader, queries[i], analyzer);
    });
    QueryBackend& backend = processors.backend();
    std::unique_lock lock(gpu_mutex, std::defer_lock);
    if (&backend.backend() != &backend.cpu()) lock.lock();
    SearchRequest request{parsed.views(), &algorithm, options.k, passing_of(options.filter)};
    QueryExpander::Batch expanded;
    if (expander) {
      expanded = expander->expand(backend.backend(), request, consumer.threads);
      request.queries = expanded.queries.views();
      consumer.render = [&](std::size_t query, QueryAnswer& answer) { expanded.add_cost(query, answer); };
    }
    const std::uint64_t before = queries_on_gpu(backend);
    run(backend.backend(), request, consumer);
    own.progress().finish();
    return collection.take(queries_on_gpu(backend) - before);
  }

  const Index index;
  WorkResources resources;
  SearchProcessors processors;
  std::unique_ptr<const QueryReader> reader;
  std::vector<ForwardReader> forwards;
  std::optional<QueryExpander> expander;
  std::mutex gpu_mutex;  ///< held by a batch that GPUs answer
};

Searcher::Searcher(const Index& index, const Scoring& scoring, const Placement& placement, const Work& work)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(index, scoring, placement, work); })) {}

const Index& Searcher::index() const noexcept { return impl_->index; }

std::vector<Hit> Searcher::search(const Query& query, std::size_t k, std::string_view algorithm,
                                  SearchStatistics* statistics, const Filter* filter, const Budget& budget) const {
  return with_api_errors([&] {
    check_k(k);
    const QueryAlgorithm limited = algorithm_of(algorithm, budget);
    impl_->check(limited.budget);
    QueryStatistics counted;
    const auto documents = impl_->processors.backend().cpu().search(impl_->terms(query, algorithm, &counted, filter),
                                                                    limited, k, &counted, passing_of(filter));
    if (statistics != nullptr) add(*statistics, counted);
    return hits_of(documents);
  });
}

std::vector<std::pair<std::string, double>> Searcher::terms(const Query& query, std::string_view algorithm,
                                                            const Filter* filter) const {
  return with_api_errors([&] {
    std::vector<std::pair<std::string, double>> terms;
    for (QueryTerm& term : impl_->terms(query, algorithm, nullptr, filter))
      terms.emplace_back(std::move(term.term), term.weight);
    return terms;
  });
}

BatchResults Searcher::batch(std::span<const Query> queries, const BatchOptions& options, const Work& work) const {
  return with_api_errors([&] {
    try {
      return impl_->answer(queries, options, work);
    } catch (const InvalidArgument&) {
      impl_->refuse_wrong(queries, options);
      throw;
    }
  });
}

struct Intersector::Impl {
  Impl(const Index& searched, const std::string& method, const Placement& placement, const Work& work)
      : index(searched),
        resources(work, {}),
        memory(memory_options(placement), index.impl()->whole(), placement.plans),
        is_on_cpu(placement.device == Device::cpu),
        processors(index.impl()->whole(), settings(method, placement),
                   work.memory_bytes != 0 ? query_memory(work.memory_bytes, resources->threads) : QueryMemory(),
                   *resources->progress),
        reader(processors.reader(QueryKind::text)) {}

  IntersectSettings settings(const std::string& method, const Placement& placement) const {
    IntersectSettings settings;
    settings.device = query_device(placement.device);
    settings.method = method;
    settings.gpu.gpu = placement.gpu;
    settings.gpu.gpus = placement.gpus;
    settings.gpu.memory = memory.options();
    settings.notice = spelled(placement.notice);
    return settings;
  }

  const Index index;
  WorkResources resources;
  const ShardGpuMemory memory;
  const bool is_on_cpu;
  IntersectProcessors processors;
  const QueryReader reader;
  std::mutex gpu_mutex;
};

Intersector::Intersector(const Index& index, const std::string& method, const Placement& placement, const Work& work)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(index, method, placement, work); })) {}

const Index& Intersector::index() const noexcept { return impl_->index; }

BatchResults Intersector::batch(std::span<const Query> queries, const Filter* filter, const Work& work) const {
  return with_api_errors([&] {
    WorkResources own(work, {});
    own.progress().start("intersect", queries.size(), "queries");
    BatchCollection collection(queries.size(), 1, own.progress());
    const unsigned threads = work.threads != 0 ? own->threads : impl_->resources->threads;
    const ParsedQueries parsed = impl_->reader.read(queries.size(), threads, [&](std::size_t i, Analyzer& analyzer) {
      return read_query(impl_->reader, queries[i], analyzer);
    });
    IntersectionSteps steps;
    steps.take = [&](std::size_t query, std::span<const docid_t> documents) {
      QueryAnswer answer;
      for (const docid_t docid : documents) answer.documents.push_back({docid, 0});
      collection.add(query, answer);
    };
    std::uint64_t on_gpu = 0;
    steps.count_cpu = [](const IntersectionStatistics&) {};
    steps.count_gpu = [&](const GpuIntersectionStatistics& counted, double) { on_gpu += counted.queries; };
    std::unique_lock lock(impl_->gpu_mutex, std::defer_lock);
    if (!impl_->is_on_cpu) lock.lock();
    impl_->processors.run(parsed.views(), filter != nullptr ? filter->impl()->by_shard.front() : nullptr, threads,
                          steps);
    own.progress().finish();
    return collection.take(on_gpu);
  });
}

}  // namespace quern::api
