#include <fmt/format.h>

#include <filesystem>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/lab/gpu/cache_bench.hpp"
#include "quern/lab/gpu/gpu_cache_subject.hpp"
#include "quern/lab/gpu/list_cache_bench.hpp"
#include "quern/plan/cache_plan.hpp"

#include "bench/bench.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchGpuCacheArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index, train, points, algorithm = "and", strategy{gpu::all_strategies().front().name};
  bool replay = false;
  std::vector<std::string> list_buffers;
  CacheGrid grid;
  GpuCacheOptions gpu;
};

std::vector<std::string> policies_and_none() {
  std::vector<std::string> names = names_of(all_cache_policies());
  names.emplace_back(no_policy);
  return names;
}

/// `more`: arguments of figures_of().
template <class Figures, class... More>
void print_table(BenchReport& report, const std::vector<Figures>& all, More... more) {
  for (const Figures& figures : all) report.add("", figures_of(figures, more...));
  report.print_table();
}

void print_tables(const CacheBenchFigures& figures, const std::string& base_memory, BenchReport& report) {
  print_table(report, figures.copied_lists, "copied_lists");
  print_table(report, figures.copied_windows, "copied_windows");
  print_table(report, figures.pinned_copies, "pinned_copies");
  const auto& runs = figures.calibrating_runs;
  if (std::any_of(runs.begin(), runs.end(), [](const CalibratingRun& run) { return run.demand.windowed == 1; })) {
    for (const auto& [what, costs] :
         {std::pair("to copy", figures.window_copies), std::pair("of the GPU, beyond c", figures.window_kernels)}) {
      Row row = {{"", what, "windows of documents take"}};
      append(row, figures_of(costs));
      report.add("", std::move(row));
    }
    report.print_table();
  }
  print_table(report, figures.resident);
  print_table(report, figures.points);
  print_table(report, figures.left_out);
  report.say("Best splits of {} by the models:\n", base_memory);
  for (const CacheSplit& split : figures.splits)
    if (split.memory == base_memory) report.add("", figures_of(split));
  report.print_table();
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

void measure(BenchGpuCacheArguments arguments) {
  if (arguments.train.empty()) throw CLI::RequiredError("--train or --replay");
  check_strategy(arguments.strategy, {arguments.algorithm});
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> train = read_query_file(arguments.train, arguments.queries.layout, arguments.common);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const std::vector<std::string_view> train_texts = texts_of(train);
  const QueryEngine engine(index, scoring_options(arguments.scoring, index, arguments.queries), resources.threads,
                           memory_of_log_queries(resources));
  arguments.gpu.algorithm = &algorithm_named(arguments.algorithm);
  arguments.gpu.gpu.strategy = &gpu::strategy_named(arguments.strategy);
  const std::uint64_t lists = coded_list_bytes(index, engine.quantizer() != nullptr);
  const auto add_memory = [&](const std::string& memory) {
    arguments.gpu.memories[memory] = ratio(parse_budget(memory, lists), lists);
  };
  CacheGrid& grid = arguments.grid;
  for (const auto* memories : {&grid.memories, &grid.calibrating})
    std::for_each(memories->begin(), memories->end(), add_memory);
  add_memory(grid.base.memory);
  for (const std::string& buffer : arguments.list_buffers) grid.list_buffers.push_back(parse_budget(buffer, lists));
  grid.base.list_buffer = std::exchange(arguments.gpu.gpu.memory.list_buffer, std::nullopt).value_or(0);
  check_cache_grid(grid);
  std::vector<std::size_t> batches = grid.batches;
  batches.push_back(grid.base.batch);
  arguments.gpu.gpu.batch_queries = *std::max_element(batches.begin(), batches.end());
  arguments.gpu.kind = query_kind(arguments.queries.layout.format);
  const ParsedQueries read = engine.reader(arguments.gpu.kind).read(texts_of(queries), resources.threads);
  BenchReport report("gpu-cache", arguments.common);
  GpuCacheSubject subject(engine, train_texts, read.views(), arguments.gpu, resources);
  const CacheBenchFigures figures = measure_cache(subject, arguments.grid, *resources.progress);
  if (!arguments.points.empty()) write_points(arguments, figures);
  report.json.update({{"index", index_json(index)},
                      {"gpu", list_gpus().at(arguments.gpu.gpu.gpu).name},
                      {"algorithm", arguments.algorithm},
                      {"strategy", arguments.strategy},
                      {"scores", name_of_value(scores_names, arguments.scoring.scores)},
                      {"idf", name_of_value(idf_names, arguments.scoring.idf)},
                      {"queries", subject.queries()},
                      {"left_out_queries", queries.size() - subject.queries()}});
  report.json.update(cache_bench_json(figures, arguments.grid));
  print_tables(figures, arguments.grid.base.memory, report);
  report.finish();
}

/// Counts what each memory and cache would copy in batches of each size.
void replay(const BenchGpuCacheArguments& arguments) {
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const QueryEngine engine(index, scoring_options(ScoringArguments(), index, arguments.queries));
  const ParsedQueries read = engine.reader(query_kind(arguments.queries.layout.format)).read(texts_of(queries), 1);
  BenchReport report("gpu-cache", arguments.common);
  report.json["index"] = index_json(index);
  for (const std::uint64_t batch : arguments.grid.batches)
    for (const std::string& memory : arguments.grid.memories)
      for (const auto& retention : gpu::list_retentions) {
        ListCacheCase cache;
        cache.words = parse_budget(memory, coded_list_bytes(index, false)) / sizeof(std::uint32_t);
        cache.batch = batch;
        cache.retention = retention.value;
        cache.by_windows = true;
        cache.window_words = cache.words / 4;
        cache.flights = batch == 1 ? 1 : gpu::batches_in_flight;
        const ListCacheFigures figures = replay_queries(engine, read.views(), cache);
        const double copied_share = ratio(figures.counts.copied_bytes, figures.counts.bytes);
        report.add("replays", {{"memory", memory, "memory"},
                               {"batch", batch, "batch"},
                               {"cache", retention.name, "cache"},
                               {"queries", figures.queries},
                               {"batches", figures.batches},
                               {"needed_bytes", figures.counts.bytes, "needed MB", "{:.1f}", 1e-6},
                               {"copied_bytes", figures.counts.copied_bytes, "copied MB", "{:.1f}", 1e-6},
                               {"", figures.counts.bytes > 0 ? 1 - copied_share : 0, "found there", "{:.1f} %", 100},
                               {"evicted", figures.counts.evicted_lists},
                               {"left_out", figures.left_out, "too long"}});
      }
  report.print_table();
  report.finish();
}

void run(const BenchGpuCacheArguments& arguments) { arguments.replay ? replay(arguments) : measure(arguments); }

/// A time in milliseconds; "none" becomes 0.
CLI::Validator limit_validator() {
  return checked_by([](std::string& text) -> std::string {
    double ms = 0;
    if (text == "none") {
      text = "0";
      return {};
    }
    if (read_number(text, ms) && ms > 0 && ms <= 1e9) return {};
    return fmt::format("'{}' is neither a time in milliseconds nor none", text);
  });
}

/// GPU memory.
CLI::Option* add_memory_option(CLI::App& command, const std::string& option, auto& memory, const std::string& help) {
  return add_option(command, option, memory, "SIZE|P%", help)->check(budget_validator())->capture_default_str();
}

void add_grid_options(CLI::App& command, BenchGpuCacheArguments& arguments) {
  CacheGrid& grid = arguments.grid;
  grid.policies = policies_and_none();
  add_value_option(command, "--part", grid.parts, grid_parts,
                   with_choices("Parts of the grid to measure (default: all):", grid_parts));
  add_memory_option(command, "--memories", grid.memories,
                    "Amounts of GPU memory for lists, as sizes or percentages of all lists; tables, rows, queries and "
                    "windows of documents have more")
      ->delimiter(',');
  add_option(command, "--list-buffers", arguments.list_buffers, "SIZE|P%",
             "List buffers: two of them, as with list-buffer of --gpu-options, are part of each memory")
      ->check(budget_validator())
      ->delimiter(',');
  add_option(command, "--policies", grid.policies, "NAME",
             with_choices("Policies of plans:", all_cache_policies()) + "\n  none: no plan")
      ->check(name_validator(policies_and_none()))
      ->delimiter(',')
      ->capture_default_str();
  add_memory_option(
      command, "--calibrate", grid.calibrating,
      "Amounts of memory for lists used to measure the cost of windows of documents and the overlap of copies with "
      "work, for predicting all other amounts")
      ->delimiter(',');
  add_number_option(command, "--batches", grid.batches, "N", "Batch sizes", 1, gpu::max_batch_queries);
  add_option(command, "--lambdas", grid.max_admissions, "L", "Largest shares of a list that plans keep")
      ->check(max_admission_validator())
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(command, "--ks", grid.ks, "N", "Results per query", 1, gpu::max_results);
  add_settings_option(
      command, "--base", "Values of settings that a part of the grid doesn't vary", [&](CLI::App& settings) {
        add_number_option(settings, "--k", grid.base.k, "N", "Results per query", 1, gpu::max_results);
        add_memory_option(settings, "--memory", grid.base.memory, "GPU memory for lists");
        add_option(settings, "--lambda", grid.base.max_admission, "L", "Largest share of a list that plans keep")
            ->check(max_admission_validator())
            ->capture_default_str();
        add_number_option(settings, "--batch", grid.base.batch, "N", "Batch size", 1, gpu::max_batch_queries);
      });
  add_option(command, "--limits", grid.limits_ms, "MS|none",
             "Response-time limits in milliseconds, or none, for which to compute the best split of each memory")
      ->transform(limit_validator())
      ->delimiter(',')
      ->default_str("5,50,100,150,none");
}

}  // namespace

void add_gpu_cache_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchGpuCacheArguments>(
      bench, "gpu-cache",
      "Measure a GPU with less memory than the index, by memory, plan and batch size, against the throughput model",
      run);
  add_index_argument(command, arguments.index);
  add_input_option(command, "--train", arguments.train, "FILE", "The log to make plans from, plain or compressed");
  command.add_flag("--replay", arguments.replay,
                   "Instead, count the bytes that a GPU would copy with each of --memories, --batches and caches; "
                   "needs neither a GPU nor plans");
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_name_option(command, "-a,--algorithm", arguments.algorithm, all_algorithms(), "Query algorithm");
  // Otherwise the first configurations measured would be staged, and pay for pinning the lists.
  arguments.gpu.gpu.memory.transfers = gpu::ListTransfers::direct;
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_strategy_options(settings, arguments.strategy, arguments.gpu.gpu.strategy_options);
    add_ranked_list_options(settings, arguments.gpu.gpu.memory);
  });
  add_grid_options(command, arguments);
  name_file(add_option(command, "--points", arguments.points, "FOLDER",
                       "Write the measured points that quern simulate throughput reads into this folder, a file "
                       "POLICY-BATCH.csv for each policy and batch size"),
            {.is_written = true, .fills_folder = true});
  command.add_flag("--force", arguments.common.force, "Replace existing points");
  add_score_options(command, arguments.scoring);
  add_gpu_option(command, arguments.gpu.gpu.gpu);
  add_repeats_option(command, arguments.gpu.repeats, "Passes; the median time counts");
  add_resource_options(command, arguments.common);
  exclude_others(command, "--replay",
                 {"--query", "--queries", "--queries-format", "--id-field", "--text-field", "--query-scale",
                  "--memories", "--batches"});
  set_notes(
      command,
      {"The model of Wang et al., section 4.2.1, predicts 1 / (c(n) + t(S_b) dq(S_c)) queries per second; the model "
       "with overlap uses the stage that takes longest. c is measured with all lists in GPU memory, t by copies, dq by "
       "a replay of the log, and the cost of windows of documents and the overlap of copies with work with the "
       "memories of --calibrate: never with the run being predicted.",
       "Queries without results are skipped. All results are compared with those with all lists in GPU memory. Plans "
       "get three quarters of the memory for lists, or all that list buffers leave. Settings with too little memory "
       "are left out, with the reason. Lists are pinned before the first measurement: transfers are direct by default, "
       "unlike those of other commands.",
       "hits, bytes: the fraction of a batch's lists, and of their bytes, already in GPU memory. hidden: the fraction "
       "of copy time that did not slow queries down compared with all lists in memory. CPU: work on queries that the "
       "GPU left to it.",
       "--replay skips queries with a term that is not in the index. As in the engine, a batch whose lists need more "
       "than half of the memory runs in windows of documents, which have a quarter as much memory beside, or has fewer "
       "queries if that is too small. Too long: single queries whose lists do not fit."},
      {{"quern bench gpu-cache my.quern --train train.gz -q test.gz --json > cache.json"},
       {"quern bench gpu-cache my.quern --train train.gz -q test.gz --part memories --memories 10%,20% --batches 256"},
       {"quern bench gpu-cache my.quern --train train.gz -q test.gz --part single --points points"},
       {"quern bench gpu-cache my.quern -q test.gz --replay --memories 10%,30% --batches 1,256"}});
}

}  // namespace quern::tools
