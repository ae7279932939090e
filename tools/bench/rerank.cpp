#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"
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

Json rerank_json(const RerankFigures& figures) {
  const auto ns = [&](double seconds) { return 1e9 * seconds / static_cast<double>(figures.documents); };
  Json json = {{"ranker", figures.ranker},
               {"device", figures.device},
               {"threads", figures.threads},
               {"documents", figures.documents},
               {"queries", figures.queries},
               {"us_per_query", 1e6 * figures.seconds},
               {"ns_per_document", figures.ns_per_document()},
               {"documents_per_second", figures.documents_per_second()},
               {"stages", nullptr},
               {"joules_per_million_documents", nullptr}};
  if (figures.threads == 1)
    json["stages"] = {{"inputs_ns_per_document", ns(figures.stages.inputs)},
                      {"trees_ns_per_document", ns(figures.stages.trees)},
                      {"layers_ns_per_document", ns(figures.stages.layers)}};
  if (figures.joules)
    json["joules_per_million_documents"] = 1e6 * *figures.joules / static_cast<double>(figures.documents);
  return json;
}

Json gpu_rerank_json(const GpuRerankFigures& figures) {
  Json json = rerank_json(figures);
  json["scored_on"] = figures.on_gpu ? "gpu" : "cpu";
  if (!figures.on_gpu) {
    json["stages"] = nullptr;
    return json;
  }
  json["stages"]["copy_in_us"] = 1e6 * figures.copy_in;
  json["stages"]["inputs_us"] = 1e6 * figures.stages.inputs;
  json["stages"]["trees_us"] = 1e6 * figures.stages.trees;
  json["stages"]["layers_us"] = 1e6 * figures.stages.layers;
  json["stages"]["copy_out_us"] = 1e6 * figures.copy_out;
  return json;
}

Json load_json(const GpuRankerLoad& load) {
  Json json = {{"ranker", load.ranker},
               {"scored_on", load.on_gpu ? "gpu" : "cpu"},
               {"bytes", load.bytes},
               {"upload_us", 1e6 * load.seconds}};
  if (load.difference) json["largest_difference"] = *load.difference;
  return json;
}

Json summary_json(const RerankSummary& summary) {
  Json json = {{"ranker", summary.ranker},
               {"fewest_documents", nullptr},
               {"most_documents", summary.most_documents},
               {"speedup", summary.speedup},
               {"threads_speedup", nullptr}};
  if (summary.fewest_documents) json["fewest_documents"] = *summary.fewest_documents;
  if (summary.threads_speedup) json["threads_speedup"] = *summary.threads_speedup;
  return json;
}

void print_rerank_head() {
  print(environment_line());
  print(fmt::format("{:<14}{:>7}{:>9}{:>7}{:>12}{:>9}{:>12}{:>9}{:>9}{:>9}{:>9}\n", "ranker", "device", "threads",
                    "docs", "us/query", "ns/doc", "docs/s", "inputs", "trees", "layers", "J/1M"));
}

std::string figure_text(const Json& value, const char* format) {
  return value.is_null() ? "-" : fmt::format(fmt::runtime(format), value.get<double>());
}

void print_rerank_row(const Json& row) {
  const Json& stages = row["stages"];
  const auto stage = [&](const char* key) {
    return stages.is_null() ? std::string("-") : fmt::format("{:.0f}", stages[key].get<double>());
  };
  print(fmt::format("{:<14}{:>7}{:>9}{:>7}{:>12.1f}{:>9.0f}{:>12.0f}{:>9}{:>9}{:>9}{:>9}\n",
                    row["ranker"].get<std::string>(), row["device"].get<std::string>(), row["threads"].get<unsigned>(),
                    row["documents"].get<std::size_t>(), row["us_per_query"].get<double>(),
                    row["ns_per_document"].get<double>(), row["documents_per_second"].get<double>(),
                    stage("inputs_ns_per_document"), stage("trees_ns_per_document"), stage("layers_ns_per_document"),
                    figure_text(row["joules_per_million_documents"], "{:.3g}")));
}

void print_loads(const Json& loads) {
  for (const Json& load : loads) {
    const std::string name = load["ranker"];
    if (load["scored_on"] == "cpu") {
      print(fmt::format("{}: does not fit in --ranker-memory; the CPU scores instead\n", name));
      continue;
    }
    print(fmt::format("{}: {:.1f} MB on the GPU, loaded in {:.1f} ms\n", name, load["bytes"].get<double>() / 1e6,
                      load["upload_us"].get<double>() / 1e3));
    if (load.contains("largest_difference"))
      print(fmt::format("{}: scores differ from the CPU's by at most {:.2g} of the largest\n", name,
                        load["largest_difference"].get<double>()));
  }
}

void print_summaries(const Json& json) {
  for (const Json& summary : json["summaries"]) {
    const std::string from =
        summary["fewest_documents"].is_null()
            ? std::string("never ahead of one core")
            : fmt::format("ahead of one core from {} documents up", summary["fewest_documents"].get<std::size_t>());
    print(fmt::format("{}: the GPU is {}; with {} documents {:.1f} times as fast", summary["ranker"].get<std::string>(),
                      from, summary["most_documents"].get<std::size_t>(), summary["speedup"].get<double>()));
    if (!summary["threads_speedup"].is_null())
      print(fmt::format(", {:.1f} times as all threads", summary["threads_speedup"].get<double>()));
    print("\n");
  }
  print(fmt::format("harmonic mean of speedups against one core: {:.2f}\n", json["mean_speedup"].get<double>()));
}

/// Measures on the GPU, and beside what was measured on the CPU.
void add_gpu_figures(const BenchRerankArguments& arguments, std::span<const RerankSubject> subjects,
                     const FeatureColumns& features, const RerankBenchOptions& options,
                     std::span<const RerankFigures> on_cpu, Progress& progress, Json& json) {
  GpuRerankBenchOptions on_gpu;
  on_gpu.gpu = arguments.gpu;
  on_gpu.ranker_bytes = parse_size(arguments.ranker_memory);
  on_gpu.fast_math = arguments.fast_math;
  const GpuRerankResult result = measure_gpu_reranking(subjects, features, options, on_gpu, progress);
  json["gpu"] = list_gpus().at(arguments.gpu).name;
  json["fast_math"] = arguments.fast_math;
  for (const GpuRankerLoad& load : result.loads) json["loads"].push_back(load_json(load));
  std::vector<RerankFigures> scored_there;
  for (const GpuRerankFigures& figures : result.figures) {
    json["results"].push_back(gpu_rerank_json(figures));
    if (figures.on_gpu) scored_there.push_back(figures);
  }
  const std::vector<RerankSummary> summaries = summarize_reranking(on_cpu, scored_there);
  if (summaries.empty()) return;
  for (const RerankSummary& summary : summaries) json["summaries"].push_back(summary_json(summary));
  json["mean_speedup"] = mean_speedup(summaries);
}

void print_rerank(const Json& json) {
  print_rerank_head();
  for (const Json& row : json["results"]) print_rerank_row(row);
  if (json.contains("loads")) print_loads(json["loads"]);
  if (json.contains("summaries")) print_summaries(json);
}

/// Before anything is measured.
void check_gpu(const BenchRerankArguments& arguments) {
  if (!arguments.measures("gpu")) {
    if (arguments.fast_math) throw InvalidArgument("--fast-math works only on GPUs; use --device gpu");
    return;
  }
  const std::size_t gpus = list_gpus().size();
  if (arguments.gpu < gpus) return;
  throw InvalidArgument(
      built_with_cuda() ? fmt::format("there is no GPU {}; this machine has {}; use --device cpu", arguments.gpu, gpus)
                        : "this program was built without CUDA; use --device cpu");
}

void run(const BenchRerankArguments& arguments) {
  check_gpu(arguments);
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "rerank"}, {"environment", environment_json()}};  // its load is that before the work
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
  const std::size_t most = *std::max_element(options.documents.begin(), options.documents.end());
  const SynthFeatures features(arguments.synth.features, most, arguments.synth.seed);
  json["seed"] = arguments.synth.seed;
  json["repeats"] = arguments.repeats;
  std::vector<RerankFigures> on_cpu;
  if (arguments.measures("cpu")) on_cpu = measure_reranking(subjects, features.columns(), options, *resources.progress);
  for (const RerankFigures& figures : on_cpu) json["results"].push_back(rerank_json(figures));
  if (arguments.measures("gpu"))
    add_gpu_figures(arguments, subjects, features.columns(), options, on_cpu, *resources.progress, json);
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_rerank(json);
}

void add_synth_options(CLI::App& command, BenchRerankArguments& arguments) {
  add_name_option(command, "--ranker", arguments.rankers, all_synth_rankers,
                  with_choices("Rankers of Tadros (default: all, unless --trees is given)", all_synth_rankers))
      ->delimiter(',');
  add_number_option(command, "--trees", arguments.trees, "N", "Measure the sum of N trees, without a network", 1u,
                    100000u);
  add_number_option(command, "--leaves", arguments.synth.leaves, "N", "Leaves of each tree", 1u, 16384u);
  add_number_option(command, "--features", arguments.synth.features, "N", "Features of a document", 1u, 10000u);
  add_number_option(command, "--hidden", arguments.synth.hidden, "N", "Neurons between two layers", 1u, 10000u);
  add_number_option(command, "--seed", arguments.synth.seed, "N", "Seed of models and features");
}

void add_device_options(CLI::App& command, BenchRerankArguments& arguments) {
  add_name_option(command, "--device", arguments.devices, rerank_devices,
                  with_choices("Where to score (default: the CPU, and a GPU if there is one)", rerank_devices))
      ->delimiter(',');
  add_gpu_option(command, arguments.gpu);
  command
      .add_option("--ranker-memory", arguments.ranker_memory,
                  "GPU memory for models, such as 512M or 4G. If it is too small for a model, the CPU scores instead")
      ->type_name("SIZE")
      ->check(size_validator())
      ->capture_default_str();
  command.add_flag(
      "--fast-math", arguments.fast_math,
      "On the GPU, compute layers with tensor cores: scores differ, and the largest difference is printed");
}

}  // namespace

void add_rerank_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchRerankArguments>();
  CLI::App* command = bench.add_subcommand("rerank", "Measure how fast learned models score documents");
  add_synth_options(*command, *arguments);
  add_number_option(*command, "--docs", arguments->documents, "N", "Documents per query; a row for each", 1, 100000);
  add_repeats_option(*command, arguments->repeats, "Repetitions; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_device_options(*command, *arguments);
  add_common_options(*command, arguments->common);
  set_notes(
      *command,
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
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
