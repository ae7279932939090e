#include "quern/lab/gpu/gpu_bench.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>

#include "quern/gpu/device/tuning.hpp"
#include "quern/lab/gpu/energy_meter.hpp"
#include "quern/lab/gpu/transfer_bench.hpp"
#include "quern/plan/cost_model.hpp"

namespace quern {
namespace {

using Results = std::vector<std::vector<ScoredDocument>>;
using Queries = std::span<const QueryView>;

/// The queries of a benchmark, as text and as read before it.
struct BenchTexts {
  const QueryReader reader;
  const std::span<const std::string_view> texts;
  const ParsedQueries read;

  BenchTexts(const QueryEngine& engine, std::span<const std::string_view> all, const GpuBenchOptions& options)
      : reader(engine.reader(options.kind)), texts(all), read(reader.read(all, options.threads)) {}
};

/// Energy counters change about ten times per second: the work between two readings takes at least this long.
constexpr double min_energy_seconds = 0.5;

struct CpuReference {
  Results results;
  std::vector<std::uint64_t> postings;  ///< in each query's lists
  double seconds = 0;                   ///< 0 if not measured

  double postings_of(std::size_t queries) const {
    double sum = 0;
    for (std::size_t i = 0; i < queries; ++i) sum += static_cast<double>(postings[i]);
    return sum;
  }
};

CpuReference answer_on_cpu(CpuBackend& backend, const BenchTexts& queries, const QueryAlgorithm& algorithm,
                           std::size_t k, const GpuBenchOptions& options, Progress& progress) {
  // All algorithms with the same matching have the same results; maxscore is the fastest.
  const QueryAlgorithm& reference =
      algorithm.matching == Matching::any && !options.cpu ? algorithm_named("maxscore") : algorithm;
  CpuReference out{Results(queries.texts.size()), std::vector<std::uint64_t>(queries.texts.size()), 0};
  AnswerConsumer consumer;
  consumer.threads = options.threads;
  consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
    out.results[i] = answer.documents;
    out.postings[i] = answer.statistics.postings;
  };
  const unsigned passes = options.cpu ? options.repeats : 1;
  std::vector<double> seconds;
  progress.start(fmt::format("{} on the CPU, k {}", reference.name, k), passes, "passes");
  for (unsigned i = 0; i < passes; ++i, progress.add(1)) {
    ParsedQueries read;
    seconds.push_back(wall_seconds([&] {
      read = queries.reader.read(queries.texts, options.threads);
      run(backend, {read.views(), &reference, k}, consumer);
    }));
  }
  progress.finish();
  if (options.cpu) out.seconds = median(seconds);
  return out;
}

class GpuBench {
 public:
  GpuBench(const CpuBackend& cpu, const BenchTexts& texts, const GpuBenchOptions& options, const GpuMemoryCase& memory,
           const gpu::Strategy& strategy, unsigned gpus, Progress& progress)
      : index_(cpu.engines().front()->index()),
        texts_(texts),
        queries_(texts.read.views()),
        options_(options),
        memory_(memory),
        progress_(progress),
        all_gpus_(list_gpus()),
        strategy_(strategy),
        numbers_(gpu::gpu_numbers(options.gpu, gpus)),
        shards_(cpu.engines(), gpu_options(options, strategy, gpus), std::vector(cpu.engines().size(), memory.memory),
                false, progress),
        energy_(std::span(all_gpus_).subspan(options.gpu, numbers_.size())),
        limits_(limits_of(all_gpus_.at(options.gpu), options.gpu)) {
    if (shards_.shards() > 1 && shards_.shards() < numbers_.size())
      throw InvalidArgument("{} shards can't be divided among {} GPUs; cut the index into as many", shards_.shards(),
                            numbers_.size());
  }

  GpuBenchFigures measure(const QueryAlgorithm& algorithm, std::size_t k, std::size_t batch,
                          const CpuReference& reference) {
    GpuBenchFigures figures;
    figures.strategy = &strategy_;
    figures.algorithm = &algorithm;
    figures.memory_limit = memory_.limit;
    figures.plan = memory_.plan;
    figures.k = k;
    figures.gpus = numbers_.size();
    figures.batch_queries = batch;
    figures.queries = batch == 1 ? std::min(queries_.size(), max_single_queries) : queries_.size();
    figures.postings = reference.postings_of(figures.queries);
    figures.cpu_seconds =
        reference.seconds * static_cast<double>(figures.queries) / static_cast<double>(queries_.size());
    shards_.set_batch_queries(batch);
    progress_.start(
        fmt::format("{} by {} on {} GPUs, k {}, batches of {}", algorithm.name, strategy_.name, figures.gpus, k, batch),
        options_.repeats, "passes");
    compare(figures, reference.results);
    if (batch == 1)
      ask_singly(figures);
    else
      ask_together(figures);
    progress_.finish();
    if (options_.each_query) time_each_query(figures);
    return figures;
  }

 private:
  /// Memory is divided for the largest batches.
  static GpuOptions gpu_options(const GpuBenchOptions& options, const gpu::Strategy& strategy, unsigned gpus) {
    return {.gpu = options.gpu,
            .batch_queries = *std::max_element(options.batches.begin(), options.batches.end()),
            .gpus = gpus,
            .strategy = &strategy,
            .strategy_options = options.strategy_options};
  }

  static GpuStatistics sum_of(std::span<const GpuStatistics> shards) {
    GpuStatistics sum;
    for (const GpuStatistics& shard : shards) sum += shard;
    return sum;
  }

  /// The answers to queries that are asked at once, and the work of GPUs.
  std::pair<Results, GpuStatistics> search(Queries queries, const GpuBenchFigures& figures) {
    std::vector<GpuStatistics> counted(shards_.shards());
    Results results = shards_.search({queries, figures.algorithm, figures.k}, counted);
    return {std::move(results), sum_of(counted)};
  }

  void compare(const GpuBenchFigures& figures, const Results& expected) {
    const Results found = search(queries_.first(figures.queries), figures).first;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (const auto what = difference(expected[i], found[i]))
        throw Error("the GPU's results differ from the CPU's for query {} \"{}\", {} by {}, k {}: {}", i + 1,
                    text_of_terms(queries_[i]), figures.algorithm->name, strategy_.name, figures.k, *what);
  }

  void ask_together(GpuBenchFigures& figures) {
    std::vector<double> seconds, kernels;
    AnswerConsumer consumer;
    consumer.threads = options_.threads;
    consumer.take = [](std::size_t, const QueryAnswer&) {};
    const auto pass = [&] {
      const FailoverNotice fails = [](const std::string& failure) { throw CudaError(failure); };
      FallibleGpus gpus(shards_, fails);
      FailoverBackend backend(gpus, nullptr, fails);
      ParsedQueries read;
      seconds.push_back(wall_seconds([&] {
        read = texts_.reader.read(texts_.texts, options_.threads);
        run(backend, {read.views(), figures.algorithm, figures.k}, consumer);
      }));
      figures.statistics = sum_of(gpus.statistics());
    };
    pass();
    seconds.clear();  // drops the warm-up
    const auto before = energy_.joules(figures.gpus);
    const ProcessClock clock;
    double all_seconds = 0;
    while (seconds.size() < options_.repeats || (before && all_seconds < min_energy_seconds)) {
      pass();
      all_seconds += seconds.back();
      kernels.push_back(1e-6 * figures.statistics.device.kernels_us() / static_cast<double>(figures.gpus));
      if (seconds.size() <= options_.repeats) progress_.add(1);
    }
    if (const auto after = energy_.joules(figures.gpus); before && after)
      figures.joules = (*after - *before) / static_cast<double>(seconds.size());
    const auto passes = static_cast<double>(seconds.size());
    const ProcessTime host = clock.elapsed();
    figures.host = {host.all / passes, host.busiest / passes};
    figures.seconds = median(seconds);
    figures.kernel_seconds = median(kernels);
    figures.bound = bound_of(figures.statistics.counts, limits_);
    if (figures.bound) figures.bound->seconds /= static_cast<double>(figures.gpus);
  }

  void ask_singly(GpuBenchFigures& figures) {
    std::vector<double> wall_us, device_us;
    const auto before = energy_.joules(figures.gpus);
    const double all_seconds = wall_seconds([&] {
      for (unsigned repeat = 0; repeat < options_.repeats; ++repeat, progress_.add(1)) {
        figures.statistics = {};
        for (const std::string_view text : texts_.texts.first(figures.queries)) {
          GpuStatistics counted;
          wall_us.push_back(1e6 * wall_seconds([&] {
                              const QueryTerms query = texts_.reader.read(text);
                              const QueryView view = query;
                              counted = search({&view, 1}, figures).second;
                            }));
          // Queries without posting lists are never sent to a GPU.
          if (counted.batches > 0) device_us.push_back(counted.device.total_us);
          figures.statistics += counted;
        }
      }
    });
    if (const auto after = energy_.joules(figures.gpus); before && after && all_seconds >= min_energy_seconds)
      figures.joules = (*after - *before) / options_.repeats;
    figures.seconds = all_seconds / options_.repeats;
    figures.kernel_seconds = 1e-6 * figures.statistics.device.kernels_us();
    figures.wall_us = summarize(std::move(wall_us));
    figures.device_us = summarize(std::move(device_us));
  }

  /// Times batches of similar queries, so that a query adds an even share of the batch's time.
  void time_each_query(GpuBenchFigures& figures) {
    std::vector<MeasuredQuery>& each = figures.each_query;
    for (const QueryView query : queries_.first(figures.queries))
      each.push_back({0, features_of(index_, query, figures.algorithm->matching)});
    std::vector<std::size_t> order(each.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return each[a].features.postings < each[b].features.postings;
    });
    progress_.start("measure single queries", order.size(), "queries");
    for (std::size_t at = 0; at < order.size(); at += figures.batch_queries) {
      const std::size_t count = std::min(figures.batch_queries, order.size() - at);
      time_batch(figures, std::span(order).subspan(at, count));
      progress_.add(count);
    }
    progress_.finish();
  }

  void time_batch(GpuBenchFigures& figures, std::span<const std::size_t> places) {
    std::vector<std::string_view> texts;
    for (const std::size_t place : places) texts.push_back(texts_.texts[place]);
    const auto share = 1 / static_cast<double>(texts.size());
    GpuStatistics counted;
    std::vector<double> seconds;
    for (unsigned repeat = 0; repeat <= options_.repeats; ++repeat)
      seconds.push_back(wall_seconds([&] {
        const ParsedQueries queries = texts_.reader.read(texts, options_.threads);
        counted = search(queries.views(), figures).second;
      }));
    seconds.erase(seconds.begin());  // that was the warm-up
    for (const std::size_t query : places) {
      figures.each_query[query].us = 1e6 * share * median(seconds);
      figures.each_query[query].features.missing_bytes =
          static_cast<std::uint64_t>(share * static_cast<double>(counted.lists.copied_bytes));
    }
  }

  const IndexReader& index_;
  const BenchTexts& texts_;
  const Queries queries_;
  const GpuBenchOptions& options_;
  const GpuMemoryCase& memory_;
  Progress& progress_;
  const std::vector<GpuInfo> all_gpus_;
  const gpu::Strategy& strategy_;
  const std::vector<unsigned> numbers_;  ///< of the GPUs
  GpuShards shards_;
  const EnergyMeter energy_;
  const GpuLimits limits_;
};

}  // namespace

void check_gpu_bench_options(const GpuBenchOptions& options) {
  GpuOptions gpu;
  gpu.gpu = options.gpu;
  gpu.strategy_options = options.strategy_options;
  check_gpu_options(gpu);
  for (const unsigned gpus : options.gpus) check_range("GPUs", gpus, 0, gpu::max_gpus);
  for (const std::size_t k : options.ks) check_range("k", k, 1, end_docid);
  for (const std::size_t batch : options.batches) check_range("queries per batch", batch, 1, gpu::max_batch_queries);
  check_range("threads", options.threads, 1, max_threads);
  check_range("repeats", options.repeats, 1, 1000);
}

std::vector<GpuBenchFigures> measure_gpu(const std::vector<const QueryEngine*>& engines,
                                         std::span<const std::string_view> texts,
                                         std::span<const gpu::Strategy* const> strategies,
                                         std::span<const QueryAlgorithm* const> algorithms,
                                         const GpuBenchOptions& options, Progress& progress) {
  check_gpu_bench_options(options);
  if (texts.empty()) throw InvalidArgument("a benchmark needs at least one query");
  for (const gpu::Strategy* strategy : strategies) gpu::check_answers(*strategy, algorithms);
  CpuBackend cpu(engines);
  const BenchTexts queries(*engines.front(), texts, options);
  std::map<std::pair<const QueryAlgorithm*, std::size_t>, CpuReference> references;
  const auto reference_of = [&](const QueryAlgorithm& algorithm, std::size_t k) -> const CpuReference& {
    const auto [known, is_new] = references.try_emplace({&algorithm, k});
    if (is_new) known->second = answer_on_cpu(cpu, queries, algorithm, k, options, progress);
    return known->second;
  };
  std::vector<GpuBenchFigures> all;
  for (const GpuMemoryCase& memory : options.memories)
    for (const gpu::Strategy* strategy : strategies)
      for (const unsigned gpus : options.gpus) {
        GpuBench bench(cpu, queries, options, memory, *strategy, gpus, progress);
        for (const QueryAlgorithm* algorithm : algorithms)
          for (const std::size_t k : options.ks)
            for (const std::size_t batch : options.batches)
              if (gpu::answers(*strategy, *algorithm))
                all.push_back(bench.measure(*algorithm, k, batch, reference_of(*algorithm, k)));
      }
  return all;
}

GpuLimits limits_of(const GpuInfo& gpu, unsigned number) {
  constexpr double banks = 32;
  constexpr double lanes_per_bank = 3.5;  // mean at the busiest bank if 32 lanes choose banks at random
  constexpr double passes = 2;            // an addition is a read and a write
  return {measure_copy_speed(number), 1e6 * gpu.clock_mhz * gpu.multiprocessors * banks / lanes_per_bank / passes};
}

std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuLimits& limits) {
  if (counts.decoded == 0 && counts.added == 0) return std::nullopt;
  constexpr double entry_bytes = 4;
  const auto added = static_cast<double>(counts.added);
  // Unions without pruning read all entries; for other algorithms the number depends on the results.
  const double read = counts.added > 0 ? static_cast<double>(counts.entries) : 0;
  const double bytes =
      static_cast<double>(counts.list_bytes) + entry_bytes * (static_cast<double>(counts.decoded) + read);
  const GpuBound memory{"device memory", bytes / limits.bytes_per_second};
  const GpuBound additions{"shared memory", added / limits.additions_per_second};
  return memory.seconds >= additions.seconds ? memory : additions;
}

}  // namespace quern
