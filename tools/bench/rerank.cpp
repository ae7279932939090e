#include <fmt/format.h>

#include <deque>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/gpu_rerank_bench.hpp"
#include "quern/lab/rerank_bench.hpp"
#include "quern/lab/synth/synth_ranker.hpp"

#include "bench/bench.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

constexpr NamedValue<bool> rerank_devices[] = {{"cpu", false, "one thread, and all threads, of the CPU"},
                                               {"gpu", true, "a GPU, with features and scores on the host"}};

struct BenchRerankArguments {
  CommonOptions common;
  std::vector<std::string> rankers;
  std::uint32_t trees = 0;
  SynthRankerOptions synth;
  std::vector<std::size_t> documents = {1, 10, 50, 100, 500, 1000, 5000, 10000};
  unsigned repeats = 5;
  std::vector<std::string> devices;
  unsigned gpu = 0;
  std::string ranker_memory = "1G";
  bool fast_math = false;

  bool measures(std::string_view device) const {
    const bool named = std::find(devices.begin(), devices.end(), device) != devices.end();
    return named || (devices.empty() && (device == "cpu" || !list_gpus().empty()));
  }
};

/// A model with its name and size.
struct BenchedRanker {
  std::string name;
  RankerModel model;
  Json json;
};

BenchedRanker benched_trees(const BenchRerankArguments& arguments) {
  const std::string name = fmt::format("{} trees", arguments.trees);
  return {name,
          synth_trees(arguments.trees, arguments.synth),
          {{"ranker", name},
           {"trees", arguments.trees},
           {"leaves", arguments.synth.leaves},
           {"features", arguments.synth.features}}};
}

BenchedRanker benched_network(const SynthRankerShape& shape, const BenchRerankArguments& arguments) {
  Json json = {{"ranker", shape.name},
               {"buckets", shape.buckets},
               {"linear", shape.linear},
               {"log_linear", shape.log_linear},
               {"trees", shape.trees},
               {"leaves", arguments.synth.leaves},
               {"layers", shape.layers},
               {"hidden", arguments.synth.hidden},
               {"features", arguments.synth.features}};
  return {std::string(shape.name), synth_ranker(shape, arguments.synth), std::move(json)};
}

/// --ranker and --trees; without either all of the registry.
std::deque<BenchedRanker> benched_rankers(const BenchRerankArguments& arguments) {
  std::deque<BenchedRanker> models;
  for (const SynthRankerShape& shape : all_synth_rankers) {
    const auto& names = arguments.rankers;
    const bool named = std::find(names.begin(), names.end(), shape.name) != names.end();
    if (named || (names.empty() && arguments.trees == 0)) models.push_back(benched_network(shape, arguments));
  }
  if (arguments.trees != 0) models.push_back(benched_trees(arguments));
  return models;
}

/// `stages`: those that were measured, or null.
Row row_of(const RerankFigures& figures, const RankerStages* stages) {
  const auto documents = static_cast<double>(figures.documents);
  Row row = {{"ranker", figures.ranker, "ranker"},
             {"device", figures.device, "device"},
             {"threads", figures.threads, "threads"},
             {"documents", figures.documents, "docs"},
             {"queries", figures.queries},
             {"us_per_query", 1e6 * figures.seconds, "us/query", "{:.1f}"},
             {"ns_per_document", figures.ns_per_document(), "ns/doc", "{:.0f}"},
             {"documents_per_second", figures.documents_per_second(), "docs/s", "{:.0f}"},
             {"stages", nullptr}};
  for (const auto& [name, seconds] :
       {std::pair("inputs", &RankerStages::inputs), std::pair("trees", &RankerStages::trees),
        std::pair("layers", &RankerStages::layers)})
    row.push_back({stages ? fmt::format("stages/{}_ns_per_document", name) : "",
                   stages ? Json(1e9 * stages->*seconds / documents) : Json(), name, "{:.0f}"});
  row.push_back({"joules_per_million_documents", figures.joules ? Json(1e6 * *figures.joules / documents) : Json(),
                 "J/1M", "{:.3g}"});
  return row;
}

Row row_of(const RerankFigures& figures) { return row_of(figures, figures.threads == 1 ? &figures.stages : nullptr); }

Row row_of(const GpuRerankFigures& figures) {
  Row row = row_of(figures, figures.on_gpu ? &figures.stages : nullptr);
  if (figures.on_gpu)
    append(row, {{"stages/copy_in_us", 1e6 * figures.copy_in},
                 {"stages/inputs_us", 1e6 * figures.stages.inputs},
                 {"stages/trees_us", 1e6 * figures.stages.trees},
                 {"stages/layers_us", 1e6 * figures.stages.layers},
                 {"stages/copy_out_us", 1e6 * figures.copy_out}});
  row.push_back({"scored_on", figures.on_gpu ? "gpu" : "cpu"});
  return row;
}

void report_load(const GpuRankerLoad& load, BenchReport& report) {
  report.json["loads"].push_back({{"ranker", load.ranker},
                                  {"scored_on", load.on_gpu ? "gpu" : "cpu"},
                                  {"bytes", load.bytes},
                                  {"upload_us", 1e6 * load.seconds}});
  if (!load.on_gpu) return report.say("{}: does not fit in --ranker-memory; the CPU scores instead\n", load.ranker);
  report.say("{}: {:.1f} MB on the GPU, loaded in {:.1f} ms\n", load.ranker, static_cast<double>(load.bytes) / 1e6,
             1e3 * load.seconds);
  if (!load.difference) return;
  report.json["loads"].back()["largest_difference"] = *load.difference;
  report.say("{}: scores differ from the CPU's by at most {:.2g} of the largest\n", load.ranker, *load.difference);
}

void report_summaries(const std::vector<RerankSummary>& summaries, BenchReport& report) {
  if (summaries.empty()) return;
  const auto or_null = [](const auto& figure) { return figure ? Json(*figure) : Json(); };
  for (const RerankSummary& summary : summaries)
    report.add("summaries", {{"ranker", summary.ranker, "the GPU against one core"},
                             {"fewest_documents", or_null(summary.min_documents), "ahead from docs"},
                             {"most_documents", summary.max_documents, "most docs"},
                             {"speedup", summary.speedup, "times as fast", "{:.1f}"},
                             {"threads_speedup", or_null(summary.threads_speedup), "than all threads", "{:.1f}"}});
  report.print_table();
  report.json["mean_speedup"] = mean_speedup(summaries);
  report.say("harmonic mean of speedups against one core: {:.2f}\n", mean_speedup(summaries));
}

/// Measures on the GPU, and compares with the CPU's figures.
void measure_gpu(const BenchRerankArguments& arguments, std::span<const RerankSubject> subjects,
                 const FeatureColumns& features, const RerankBenchOptions& options,
                 std::span<const RerankFigures> on_cpu, Progress& progress, BenchReport& report) {
  GpuRerankBenchOptions on_gpu;
  on_gpu.gpu = arguments.gpu;
  on_gpu.ranker_bytes = parse_size(arguments.ranker_memory);
  on_gpu.fast_math = arguments.fast_math;
  const GpuRerankResult result = measure_gpu_reranking(subjects, features, options, on_gpu, progress);
  report.json["gpu"] = list_gpus().at(arguments.gpu).name;
  report.json["fast_math"] = arguments.fast_math;
  std::vector<RerankFigures> scored_there;
  for (const GpuRerankFigures& figures : result.figures) {
    report.add("results", row_of(figures));
    if (figures.on_gpu) scored_there.push_back(figures);
  }
  report.print_table();
  for (const GpuRankerLoad& load : result.loads) report_load(load, report);
  report_summaries(summarize_reranking(on_cpu, scored_there), report);
}

/// Throws InvalidArgument if the GPU doesn't exist, or its options have no use.
void check_gpu(const BenchRerankArguments& arguments) {
  if (!arguments.measures("gpu")) {
    if (arguments.fast_math) throw InvalidArgument("--fast-math works only on GPUs; use --device gpu");
    return;
  }
  const std::size_t gpus = list_gpus().size();
  if (arguments.gpu < gpus) return;
  throw InvalidArgument(built_with_cuda()
                            ? fmt::format("no GPU {}: this machine has {}; use --device cpu", arguments.gpu, gpus)
                            : "this program was built without CUDA; use --device cpu");
}

void run(const BenchRerankArguments& arguments) {
  check_gpu(arguments);
  const Resources resources = make_resources(arguments.common);
  BenchReport report("rerank", arguments.common);
  Json& json = report.json;
  const std::deque<BenchedRanker> models = benched_rankers(arguments);
  std::vector<RerankSubject> subjects;
  for (const BenchedRanker& one : models) {
    subjects.push_back({one.name, &one.model});
    json["rankers"].push_back(one.json);
  }
  RerankBenchOptions options;
  options.documents = arguments.documents;
  options.repeats = arguments.repeats;
  options.threads = resources.threads;
  const std::size_t max_documents = *std::max_element(options.documents.begin(), options.documents.end());
  const SynthFeatures features(arguments.synth.features, max_documents, arguments.synth.seed);
  json["seed"] = arguments.synth.seed;
  json["repeats"] = arguments.repeats;
  std::vector<RerankFigures> on_cpu;
  if (arguments.measures("cpu")) on_cpu = measure_reranking(subjects, features.columns(), options, *resources.progress);
  for (const RerankFigures& figures : on_cpu) report.add("results", row_of(figures));
  report.print_table();
  if (arguments.measures("gpu"))
    measure_gpu(arguments, subjects, features.columns(), options, on_cpu, *resources.progress, report);
  report.finish();
}

void add_synth_options(CLI::App& command, BenchRerankArguments& arguments) {
  add_name_option(command, "--ranker", arguments.rankers, all_synth_rankers,
                  with_choices("Rankers of Tadros (default: all, unless --trees is given)", all_synth_rankers));
  add_number_option(command, "--trees", arguments.trees, "N", "Measure the sum of N trees, without a network", 1u,
                    100000u);
  add_number_option(command, "--leaves", arguments.synth.leaves, "N", "Leaves of each tree", 1u, 16384u);
  add_number_option(command, "--features", arguments.synth.features, "N", "Features of a document", 1u, 10000u);
  add_number_option(command, "--hidden", arguments.synth.hidden, "N", "Neurons between two layers", 1u, 10000u);
  add_number_option(command, "--seed", arguments.synth.seed, "N", "Seed of models and features");
}

void add_device_options(CLI::App& command, BenchRerankArguments& arguments) {
  add_name_option(command, "--device", arguments.devices, rerank_devices,
                  with_choices("Where to score (default: the CPU, and a GPU if there is one)", rerank_devices));
  add_gpu_option(command, arguments.gpu);
  add_option(command, "--ranker-memory", arguments.ranker_memory, "SIZE",
             "GPU memory for models, such as 512M or 4G. If it is too small for a model, the CPU scores instead")
      ->check(size_validator())
      ->capture_default_str();
  command.add_flag(
      "--fast-math", arguments.fast_math,
      "On the GPU, compute layers with tensor cores: scores differ, and the largest difference is printed");
}

}  // namespace

void add_rerank_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchRerankArguments>(bench, "rerank", "Measure how fast learned models score documents", run);
  add_synth_options(command, arguments);
  add_number_option(command, "--docs", arguments.documents, "N", "Documents per query; a row for each", 1, 100000);
  add_repeats_option(command, arguments.repeats, "Repetitions; the median time counts");
  add_device_options(command, arguments);
  set_notes(
      command,
      {"Models and features are synthetic: they have the sizes of the rankers of Tadros (2015), or those given by "
       "--trees, --leaves and --features, and are untrained. Scores must equal plain evaluation bit for bit, or "
       "nothing is measured. Each query is measured on one thread (its processor time), and with its documents divided "
       "among all threads (wall-clock time). Inputs, trees and layers are the stages on one thread, in ns per "
       "document; J/1M is the processors' energy for a million documents, if the system allows reading it. On a GPU, "
       "times are wall-clock times from features to scores, both in pinned host memory; stages are timed with the "
       "GPU's clock, and JSON also has copies. The GPU must give the same bits as the CPU. Finally, for each ranker: "
       "the smallest number of documents for which the GPU beats one core, and its speedup with the most documents."},
      {{"quern bench rerank"},
       {"quern bench rerank --trees 1000 --leaves 64 --docs 10,100,1000 -j 1"},
       {"quern bench rerank --device gpu --ranker-memory 256M --leaves 512"}});
}

}  // namespace quern::tools
