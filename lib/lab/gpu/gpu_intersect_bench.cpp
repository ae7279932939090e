#include "quern/lab/gpu/gpu_intersect_bench.hpp"

#include "quern/lab/measuring.hpp"

namespace quern {
namespace {

using Queries = std::span<const QueryView>;
using Documents = std::vector<std::vector<docid_t>>;

void check_same(std::string_view method, Queries queries, std::size_t query, std::span<const docid_t> found,
                const std::vector<docid_t>& expected) {
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
    throw Error("{} and the first method find different documents for query {} \"{}\"; please report this", method,
                query + 1, text_of_terms(queries[query]));
}

CpuIntersectFigures measure_cpu(const IndexReader& index, Queries queries, const IntersectionMethod& method,
                                unsigned threads, unsigned repeats, const Documents& expected) {
  const Intersection intersection(index, method, {});
  intersect_batch(intersection, queries, threads, [&](std::size_t i, const IntersectionAnswer& answer) {
    check_same(method.name, queries, i, answer.documents, expected[i]);
  });
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats; ++i)
    seconds.push_back(wall_seconds(
        [&] { intersect_batch(intersection, queries, threads, [](std::size_t, const IntersectionAnswer&) {}); }));
  return {&method, median(seconds)};
}

/// Options of an engine for all set-ups: the largest number of GPUs, or 0 for all.
GpuIntersectionOptions for_all(std::span<const GpuIntersectSetUp> set_ups) {
  GpuIntersectionOptions options = set_ups.front().options;
  for (const GpuIntersectSetUp& set_up : set_ups)
    options.gpus = options.gpus == 0 || set_up.options.gpus == 0 ? 0 : std::max(options.gpus, set_up.options.gpus);
  return options;
}

GpuIntersectFigures measure_gpu(GpuIntersection& gpu, Queries queries, const GpuIntersectSetUp& set_up,
                                unsigned repeats, const Documents& expected) {
  GpuIntersectFigures figures;
  figures.set_up = set_up;
  figures.gpus = set_up.options.gpus == 0 ? gpu.gpus() : set_up.options.gpus;
  gpu.use(*set_up.method, set_up.options);
  const auto nothing = [](std::size_t, std::span<const docid_t>) {};
  figures.first_seconds = wall_seconds([&] { gpu.run(queries, nothing, &figures.first); });
  gpu.run(queries, [&](std::size_t i, std::span<const docid_t> documents) {
    check_same(set_up.method->name, queries, i, documents, expected[i]);
  });
  std::vector<double> seconds, kernels;
  for (unsigned i = 0; i < repeats; ++i) {
    seconds.push_back(wall_seconds([&] { gpu.run(queries, nothing, &figures.last); }));
    kernels.push_back(1e-6 * figures.last.device.kernels_us() / static_cast<double>(figures.gpus));
  }
  figures.seconds = median(seconds);
  figures.kernel_seconds = median(kernels);
  return figures;
}

}  // namespace

GpuIntersectReport measure_gpu_intersections(const IndexReader& index, Queries queries,
                                             std::span<const IntersectionMethod* const> cpu_methods,
                                             std::span<const GpuIntersectSetUp> set_ups, unsigned threads,
                                             unsigned repeats, Progress& progress) {
  if (queries.empty() || cpu_methods.empty() || set_ups.empty() || repeats == 0)
    throw InvalidArgument("a benchmark needs at least one query, method and repeat");
  GpuIntersection gpu(index, *set_ups.front().method, for_all(set_ups), progress);
  GpuIntersectReport report;
  report.queries = queries.size();
  report.index_bytes = gpu.device_bytes();
  Documents expected;
  const Intersection first(index, *cpu_methods.front(), {});
  intersect_batch(first, queries, threads, [&](std::size_t, const IntersectionAnswer& answer) {
    expected.push_back(answer.documents);
    report.results += answer.documents.size();
    report.postings += answer.statistics.counts.postings;
  });
  progress.start("measure", cpu_methods.size() + set_ups.size(), "set-ups");
  for (const IntersectionMethod* method : cpu_methods) {
    report.cpu.push_back(measure_cpu(index, queries, *method, threads, repeats, expected));
    progress.add(1);
  }
  for (const GpuIntersectSetUp& set_up : set_ups) {
    report.gpu.push_back(measure_gpu(gpu, queries, set_up, repeats, expected));
    progress.add(1);
  }
  progress.finish();
  return report;
}

}  // namespace quern
