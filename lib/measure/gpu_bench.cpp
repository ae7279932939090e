#include "quern/measure/gpu_bench.hpp"

#include <fmt/format.h>

#include <chrono>

#include "quern/measure/median.hpp"
#include "quern/measure/query_bench.hpp"

namespace quern {
namespace {

using Results = std::vector<std::vector<ScoredDocument>>;

template <class What>
double wall_seconds(What what) {
  const auto begun = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// The CPU's results; counts the postings of the queries' lists.
Results answer_on_cpu(const QueryEngine& engine, std::span<const std::string_view> texts,
                      const QueryAlgorithm& algorithm, std::size_t k, unsigned threads, std::uint64_t& postings) {
  Results results(texts.size());
  postings = 0;
  BatchSteps steps;
  steps.take = [&](std::size_t i, const QueryAnswer& answer) {
    results[i] = answer.documents;
    postings += answer.statistics.postings;
  };
  run_batch(engine, texts, algorithm, k, threads, steps);
  return results;
}

void compare(std::span<const std::string_view> texts, const Results& expected, const Results& found,
             const GpuBenchFigures& figures) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const auto what = difference(expected[i], found[i]))
      throw Error(fmt::format("the GPU's results differ from the CPU's for query {} \"{}\", {}, k {}: {}", i + 1,
                              texts[i], figures.algorithm->name, figures.k, *what));
}

}  // namespace

std::vector<GpuBenchFigures> measure_gpu(const QueryEngine& engine, std::span<const std::string_view> texts,
                                         std::span<const QueryAlgorithm* const> algorithms,
                                         std::span<const std::size_t> ks, std::span<const std::size_t> batches,
                                         const GpuBenchOptions& options, Progress& progress) {
  GpuEngine gpu(engine, {options.gpu, batches.front()}, progress);
  std::vector<GpuBenchFigures> all;
  for (const QueryAlgorithm* algorithm : algorithms) {
    for (const std::size_t k : ks) {
      GpuBenchFigures figures;
      figures.algorithm = algorithm;
      figures.k = k;
      figures.queries = texts.size();
      // MaxScore's results are those of any algorithm with its way of matching, found soonest.
      const QueryAlgorithm& reference =
          algorithm->matching == Matching::any && !options.cpu ? algorithm_named("maxscore") : *algorithm;
      Results expected;
      std::vector<double> cpu;
      progress.start(fmt::format("{} on the CPU, k {}", reference.name, k), options.cpu ? options.repeats : 1,
                     "passes");
      for (unsigned i = 0; i < (options.cpu ? options.repeats : 1u); ++i, progress.add(1))
        cpu.push_back(wall_seconds(
            [&] { expected = answer_on_cpu(engine, texts, reference, k, options.threads, figures.postings); }));
      progress.finish();
      figures.cpu_seconds = options.cpu ? median(cpu) : 0;
      for (const std::size_t batch : batches) {
        figures.batch_queries = batch;
        gpu.set_batch_queries(batch);
        std::vector<double> seconds, kernels;
        progress.start(fmt::format("{} on the GPU, k {}, batches of {}", algorithm->name, k, batch),
                       options.repeats + 1, "passes");
        compare(texts, expected, gpu.search(texts, *algorithm, k), figures);
        for (unsigned i = 0; i < options.repeats; ++i, progress.add(1)) {
          seconds.push_back(wall_seconds([&] { gpu.search(texts, *algorithm, k, &figures.statistics); }));
          kernels.push_back(1e-6 * figures.statistics.device.kernels_us());
        }
        progress.finish();
        figures.seconds = median(seconds);
        figures.kernel_seconds = median(kernels);
        all.push_back(figures);
      }
    }
  }
  return all;
}

}  // namespace quern
