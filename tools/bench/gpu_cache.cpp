#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/size_text.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/lab/gpu/cache_bench.hpp"
#include "quern/lab/gpu/gpu_cache_subject.hpp"
#include "quern/plan/cache_policy.hpp"

#include "bench/bench.hpp"
#include "cache_options.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchGpuCacheArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index, train, points, algorithm = "and", strategy{gpu::all_strategies().front().name};
  CacheGrid grid;
  GpuCacheOptions gpu;
};

std::vector<std::string> policies_and_none() {
  std::vector<std::string> names = names_of(all_cache_policies());
  names.emplace_back(no_policy);
  return names;
}

void print_copies(const CacheBenchFigures& figures) {
  print(fmt::format("{:<10}{:>12}{:>10}\n", "a copy of", "bytes", "GB/s"));
  const auto print_all = [](std::string_view what, const std::vector<TransferTime>& copies) {
    for (const TransferTime& copy : copies)
      print(fmt::format("{:<10}{:>12}{:>10.2f}\n", what, size_text(copy.bytes),
                        static_cast<double>(copy.bytes) / copy.us / 1000));
  };
  print_all("lists", figures.copied_lists);
  print_all("windows", figures.copied_windows);
  print_all("pinned", figures.pinned_copies);
}

void print_windows(const CacheBenchFigures& figures) {
  const auto& runs = figures.calibrating_runs;
  if (std::none_of(runs.begin(), runs.end(), [](const CalibratingRun& run) { return run.demand.windowed == 1; }))
    return;
  print(fmt::format("{:<26}{:>12}{:>18}{:>14}\n", "windows of documents take", "us per MB", "us per 1000 lists",
                    "us per window"));
  const auto print_costs = [](std::string_view what, const WindowCosts& costs) {
    print(fmt::format("{:<26}{:>12.2f}{:>18.2f}{:>14.2f}\n", what, 1e6 * costs.per_byte, 1e3 * costs.per_window_list,
                      costs.per_window));
  };
  print_costs("to copy", figures.window_copies);
  print_costs("of the GPU, beyond c", figures.window_kernels);
}

void print_resident(const CacheBenchFigures& figures) {
  print(fmt::format("{:>6}{:>8}{:>14}{:>10}{:>10}{:>10}{:>10}\n", "k", "batch", "queries/s", "c us", "host us",
                    "GPU us", "alone us"));
  for (const ResidentTimes& of : figures.resident)
    print(fmt::format("{:>6}{:>8}{:>14.0f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}\n", of.setting.k, of.setting.batch,
                      1e6 / of.times.total, of.query_us, of.host_us, of.gpu_us, of.alone_us));
}

void print_points(const Json& points) {
  print(fmt::format("{:<8}{:<18}{:>7}{:>5}{:>7}{:>11}{:>11}{:>7}{:>11}{:>7}{:>8}{:>8}{:>11}{:>8}{:>8}{:>8}{:>8}{:>8}\n",
                    "memory", "policy", "lambda", "k", "batch", "queries/s", "model", "ratio", "overlap", "ratio",
                    "hits", "bytes", "copied", "GPU us", "copy us", "host us", "CPU us", "hidden"));
  for (const Json& row : points) {
    const Json& hidden = row["hidden_share"];
    const auto number = [&](const char* key) { return row[key].get<double>(); };
    print(fmt::format(
        "{:<8}{:<18}{:>7}{:>5}{:>7}{:>11.0f}{:>11.0f}{:>7.2f}{:>11.0f}{:>7.2f}{:>6.1f} %{:>6.1f} "
        "%{:>11}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>8}\n",
        row["memory"].get<std::string>(), row["policy"].get<std::string>(), number("max_admission"),
        row["k"].get<std::size_t>(), row["batch"].get<std::size_t>(), number("queries_per_second"),
        number("model_queries_per_second"), number("measured_by_model"), number("overlap_queries_per_second"),
        number("measured_by_overlap"), 100 * number("hit_rate"), 100 * number("hit_rate_bytes"),
        size_text(static_cast<std::uint64_t>(number("copied_bytes_per_query"))), number("gpu_us"), number("copying_us"),
        number("host_us"), number("cpu_us"),
        hidden.is_null() ? "-" : fmt::format("{:.0f} %", 100 * hidden.get<double>())));
  }
}

void print_splits(const CacheBenchFigures& figures, const std::string& memory) {
  print(fmt::format("Best splits of {} by the models:\n{:<18}{:>10}{:>10}{:>14}{:>10}{:>10}{:>10}{:>10}\n", memory,
                    "policy", "limit ms", "model", "queries/s", "cache", "buffer", "batch", "ms"));
  for (const CacheSplit& of : figures.splits) {
    if (of.memory != memory) continue;
    const std::string limit = of.limit_ms > 0 ? fmt::format("{}", of.limit_ms) : "none";
    print(
        fmt::format("{:<18}{:>10}{:>10}", of.policy, limit, of.overlap == StageOverlap::full ? "overlap" : "in turn"));
    if (!of.split) {
      print(fmt::format("{:>14}\n", "-"));
      continue;
    }
    print(fmt::format("{:>14.0f}{:>10}{:>10}{:>10.0f}{:>10.1f}\n", of.split->queries_per_second,
                      size_text(static_cast<std::uint64_t>(of.split->cache_bytes)),
                      size_text(static_cast<std::uint64_t>(of.split->buffer_bytes)), of.split->batch_queries,
                      of.split->response_us / 1000));
  }
}

/// A file for each policy and size of batches, which quern simulate throughput reads.
void write_points(const BenchGpuCacheArguments& arguments, const CacheBenchFigures& figures) {
  std::filesystem::create_directories(arguments.points);
  std::vector<std::unique_ptr<AtomicOutput>> files;
  for (const PolicyPoints& curve : figures.curves) {
    const std::string path = fmt::format("{}/{}-{}.csv", arguments.points, curve.policy, curve.batch);
    files.emplace_back(new AtomicOutput(AtomicOutput::file(path, arguments.common.force)));
    files.back()->file().write_at(0, as_bytes(measured_points_text(curve.points)));
  }
  AtomicOutput::commit_together(files);
}

void run(BenchGpuCacheArguments arguments) {
  check_strategy(arguments.strategy, {arguments.algorithm});
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> train = read_query_file(arguments.train, arguments.queries.format, arguments.common);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const std::vector<std::string_view> train_texts = texts_of(train);
  const QueryEngine engine(index, scoring_options(arguments.scoring, index, arguments.queries), resources.threads,
                           memory_of_log_queries(resources));
  arguments.gpu.algorithm = &algorithm_named(arguments.algorithm);
  arguments.gpu.strategy = &gpu::strategy_named(arguments.strategy);
  for (const auto* memories : {&arguments.grid.memories, &arguments.grid.calibrating})
    for (const std::string& memory : *memories) arguments.gpu.memories[memory] = gpu_memory_limit(memory);
  arguments.gpu.memories[arguments.grid.base.memory] = gpu_memory_limit(arguments.grid.base.memory);
  check_cache_grid(arguments.grid);
  arguments.gpu.kind = query_kind(arguments.queries.format);
  const ParsedQueries read = engine.reader(arguments.gpu.kind).read(texts_of(queries), resources.threads);
  GpuCacheSubject subject(engine, train_texts, read.views(), arguments.gpu, resources);
  const CacheBenchFigures figures = measure_cache(subject, arguments.grid, *resources.progress);
  if (!arguments.points.empty()) write_points(arguments, figures);
  Json json = {{"bench", "gpu-cache"},
               {"environment", environment_json()},
               {"index", index_json(index)},
               {"gpu", list_gpus().at(arguments.gpu.gpu).name},
               {"algorithm", arguments.algorithm},
               {"strategy", arguments.strategy},
               {"scores", name_of_value(scores_names, arguments.scoring.scores)},
               {"queries", subject.queries()},
               {"left_out_queries", queries.size() - subject.queries()}};
  json.update(cache_bench_json(figures, arguments.grid));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print(environment_line());
  print_copies(figures);
  print_windows(figures);
  print_resident(figures);
  print_points(json["points"]);
  print_splits(figures, arguments.grid.base.memory);
}

/// 0 for none.
CLI::Validator limit_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double ms = 0;
        if (text == "none") {
          text = "0";
          return {};
        }
        if (read_number(text, ms) && ms > 0 && ms <= 1e9) return {};
        return fmt::format("'{}' is neither a time in milliseconds nor none", text);
      },
      "");
}

void add_grid_options(CLI::App& command, CacheGrid& grid) {
  grid.policies = policies_and_none();
  add_value_option(command, "--part", grid.parts, grid_parts,
                   with_choices("What to measure of the grid (default: all of it):", grid_parts));
  command.add_option("--memories", grid.memories, "GPU memories for lists: sizes, or shares of all coded lists")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--policies", grid.policies,
                  with_choices("Policies of plans:", all_cache_policies()) + "\n  none: no plan")
      ->type_name("NAME")
      ->check(name_validator(policies_and_none()))
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--calibrate", grid.calibrating,
                  "GPU memories used to measure the cost of windows of documents and the overlap of copies with work, "
                  "for predicting all other memories")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(command, "--batches", grid.batches, "N", "Batch sizes", 1, gpu::max_batch_queries);
  command.add_option("--lambdas", grid.max_admissions, "Largest shares of a list that plans keep")
      ->type_name("L")
      ->check(max_admission_validator())
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(command, "--ks", grid.ks, "N", "Results per query", 1, gpu::max_results);
  add_number_option(command, "-k", grid.base.k, "N", "Results per query, where they do not vary", 1, gpu::max_results);
  command.add_option("--base-memory", grid.base.memory, "GPU memory for lists, where it does not vary")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->capture_default_str();
  add_number_option(command, "--base-batch", grid.base.batch, "N", "Batch size, where it does not vary", 1,
                    gpu::max_batch_queries);
  command
      .add_option("--limits", grid.limits_ms,
                  "Response times in milliseconds, or none, for which the best splits of the memories are computed")
      ->type_name("MS|none")
      ->transform(limit_validator())
      ->delimiter(',')
      ->default_str("5,50,100,150,none");
}

}  // namespace

void add_gpu_cache_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchGpuCacheArguments>();
  CLI::App* command = bench.add_subcommand(
      "gpu-cache",
      "Measure a GPU with less memory than the index, by memory, plan and batch size, against the throughput model");
  add_index_argument(*command, arguments->index);
  command->add_option("--train", arguments->train, "The log to make plans from, plain, gzip or zstd")
      ->type_name("FILE")
      ->required();
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_vectors);
  add_name_option(*command, "-a,--algorithm", arguments->algorithm, all_algorithms(), "Query algorithm")
      ->capture_default_str();
  add_strategy_options(*command, arguments->strategy, arguments->gpu.strategy_options);
  add_grid_options(*command, arguments->grid);
  mark_output(command
                  ->add_option("--points", arguments->points,
                               "Write the measured points that quern simulate throughput reads into this folder, a "
                               "file POLICY-BATCH.csv for each policy and batch size")
                  ->type_name("FOLDER"));
  command->add_flag("--force", arguments->common.force, "Replace existing points");
  add_list_options(*command, arguments->gpu.retention, arguments->gpu.transfers);
  add_scoring_options(*command, arguments->scoring);
  add_gpu_option(*command, arguments->gpu.gpu);
  add_repeats_option(*command, arguments->gpu.repeats, "Passes; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON, which scripts/plot draws");
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(
      *command,
      {"The model of Wang et al., section 4.2.1, says 1 / (c(n) + t(S_b) dq(S_c)) queries per second; the model with "
       "overlap uses the stage that takes longest. c is measured with all lists in GPU memory, t by copies, dq by a "
       "replay of the log, and the cost of windows of documents and the overlap of copies with work with the memories "
       "of --calibrate: never with the run being predicted.",
       "Queries without results are skipped. All results are compared with those with all lists in GPU memory. A "
       "memory is the limit for lists; plans get three quarters of it.",
       "hits, bytes: the fraction of a batch's lists, and of their bytes, already in GPU memory. hidden: the fraction "
       "of copy time that did not slow queries down compared with all lists in memory. CPU: work on queries that the "
       "GPU left to it."},
      {{"quern bench gpu-cache my.quern --train train.gz -q test.gz --json > cache.json"},
       {"quern bench gpu-cache my.quern --train train.gz -q test.gz --part memories --memories 10%,20% --batches 256"},
       {"quern bench gpu-cache my.quern --train train.gz -q test.gz --part single --points points"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
