#include <fmt/format.h>

#include <limits>

#include "quern/io/byte_source.hpp"
#include "quern/plan/schedule_simulation.hpp"
#include "quern/plan/throughput_model.hpp"
#include "quern/search/algorithm.hpp"

#include "command.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

struct SimulateScheduleArguments {
  CommonOptions common;
  std::vector<std::string> times;
  std::string costs;
  StreamChoice choice{"maxscore", "range", 10};
  std::vector<std::string> schedules = {"first", "ding", "better", "cpu", "gpu"};
  std::vector<double> rates;
  double deadline_ms = 500, allowed_missed = 0, hand_over_us = 0;
  std::size_t queries = 20000;
  ScheduleOptions options;
  std::size_t max_batch = 256;
};

/// A stream of a log, whose queries arrive again and again.
class Stream {
 public:
  explicit Stream(const SimulateScheduleArguments& arguments) : arguments_(arguments) {
    const std::vector<QueryTimeTable> times = read_times(arguments.times);
    origin_ = check_same_origin(times);
    std::unique_ptr<CostModel> costs;
    if (!arguments.costs.empty()) costs = std::make_unique<CostModel>(read_costs(arguments.costs, times));
    measured_ = measured_stream(times, arguments.choice, costs.get());
    machine_ = {measured_.has_cpu ? arguments.options.cpu_threads : 0,
                measured_.has_gpu ? arguments.options.gpus : 0,
                arguments.max_batch,
                arguments.options.gpu_batches,
                measured_.gpu_overhead,
                measured_.gpu_latency,
                arguments.hand_over_us};
  }

  const SimulatedMachine& machine() const { return machine_; }
  double expected_batch_us() const { return measured_.expected_batch_us(); }
  const TimesOrigin& origin() const { return origin_; }
  std::size_t measured_queries() const { return measured_.queries.size(); }
  bool can_run(const std::string& schedule) const {
    return (schedule != "cpu" || machine_.cpu_threads > 0) && (schedule != "gpu" || machine_.gpus > 0);
  }

  ScheduleFigures run(const std::string& schedule, double rate) const {
    const std::vector<double> arrivals_us = poisson_arrivals(queries_at(rate), rate, arguments_.options.seed);
    std::vector<SimulatedQuery> queries;
    queries.reserve(arrivals_us.size());
    for (const double arrival_us : arrivals_us) {
      queries.push_back(measured_.queries[queries.size() % measured_.queries.size()]);
      queries.back().waiting.arrival_us = arrival_us;
      queries.back().waiting.deadline_us = 1000 * arguments_.deadline_ms;
    }
    ScheduleOptions options = arguments_.options;
    options.cpu_threads = machine_.cpu_threads;
    options.gpus = machine_.gpus;
    options.gpu_batch_us = expected_batch_us();
    return simulate_schedule(queries, machine_, *schedule_policy_named(schedule).make(options));
  }

  /// With so few missed deadlines as are allowed.
  double highest_rate_of(const std::string& schedule) const {
    constexpr double lowest = 0.1, highest = 1e8;
    const auto missed_share = [&](double rate) {
      const ScheduleFigures figures = run(schedule, rate);
      return static_cast<double>(figures.missed) / static_cast<double>(figures.queries);
    };
    return highest_rate(missed_share, arguments_.allowed_missed, lowest, highest);
  }

 private:
  /// Queries that wait too long miss their deadline only if the stream goes on for longer.
  std::size_t queries_at(double rate) const {
    constexpr double least_deadlines = 10, max_queries = 2e6;
    const double enough = std::min(least_deadlines * rate * arguments_.deadline_ms / 1000, max_queries);
    return std::max(arguments_.queries, static_cast<std::size_t>(enough));
  }

  const SimulateScheduleArguments& arguments_;
  TimesOrigin origin_;
  MeasuredStream measured_;
  SimulatedMachine machine_;
};

Row row_of(const std::string& schedule, double rate, const ScheduleFigures& figures) {
  Row row = {{"schedule", schedule, "schedule"}, {"rate", rate, "queries/s", "{:.0f}"}};
  append(row, response_figures(figures.response, {"mean ms", "p50", "", "p95", "p99"}));
  append(row, stream_counts(figures));
  append(row, {{"cpu_busy_share", figures.cpu_busy_share, "CPU busy", "{:.1f} %", 100},
               {"gpu_busy_share", figures.gpu_busy_share, "GPU busy", "{:.1f} %", 100}});
  return row;
}

void run(const SimulateScheduleArguments& arguments) {
  make_resources(arguments.common);
  const Stream stream(arguments);
  Json json = {{"bench", "schedule"},
               {"environment", describe_environment()},
               {"index_hash", stream.origin().index_hash},
               {"scoring", stream.origin().scoring},
               {"cpu", stream.origin().cpu},
               {"gpu", stream.origin().gpu},
               {"algorithm", arguments.choice.algorithm},
               {"strategy", arguments.choice.strategy},
               {"k", arguments.choice.k},
               {"measured_queries", stream.measured_queries()},
               {"cpu_threads", stream.machine().cpu_threads},
               {"gpus", stream.machine().gpus},
               {"gpu_batch_us", stream.expected_batch_us()},
               {"max_batch", stream.machine().max_batch},
               {"gpu_batches", stream.machine().gpu_batches},
               {"deadline_ms", arguments.deadline_ms},
               {"allowed_missed_share", arguments.allowed_missed},
               {"runs", Json::array()},
               {"highest_rates", Json::array()}};
  FigureTable table;
  for (const std::string& schedule : arguments.schedules) {
    if (!stream.can_run(schedule)) continue;
    for (const double rate : arguments.rates) {
      const Row row = row_of(schedule, rate, stream.run(schedule, rate));
      json["runs"].push_back(to_json(row));
      table.add(row);
    }
    if (arguments.deadline_ms > 0)
      json["highest_rates"].push_back({{"schedule", schedule}, {"rate", stream.highest_rate_of(schedule)}});
  }
  if (arguments.common.json) return print_json(json);
  print(table.take_text());
  for (const Json& row : json["highest_rates"])
    print(fmt::format("{:<10}{:>12.0f} queries/s at most, with at most {} % of deadlines missed\n",
                      row["schedule"].get<std::string>(), row["rate"].get<double>(), 100 * arguments.allowed_missed));
}

void add_machine_options(CLI::App& command, SimulateScheduleArguments& arguments) {
  add_number_option(command, "--cpu-threads", arguments.options.cpu_threads, "N",
                    "Threads of the CPU that answer queries", 0u, max_threads);
  add_number_option(command, "--gpus", arguments.options.gpus, "N", "GPUs", 0u, 64u);
  add_number_option(
      command, "--hand-over", arguments.hand_over_us, "US",
      "Microseconds from a query's arrival until an idle processor starts on it; quern bench stream measures it", 0.0,
      1e6);
  add_gpu_batches_option(command, arguments.options);
  add_number_option(command, "--max-batch", arguments.max_batch, "N",
                    "Largest batch of queries that a GPU answers together", 1, 65535);
}

}  // namespace

void add_schedule_simulation(CLI::App& simulate) {
  auto [command, arguments] = add_command<SimulateScheduleArguments>(
      simulate, "schedule", "Simulate a CPU and GPUs that share a stream of queries with deadlines", run);
  add_input_option(command, "TIMES", arguments.times, "",
                   "Measured times of one log's queries, to simulate with: from quern bench query --times and quern "
                   "bench gpu --times")
      ->required();
  add_name_option(command, "-a,--algorithm", arguments.choice.algorithm, all_algorithms(), "Query algorithm");
  add_option(command, "--strategy", arguments.choice.strategy, "NAME", "GPU strategy whose times to use")
      ->capture_default_str();
  add_number_option(command, "-k", arguments.choice.k, "N", "Results per query in the times to use", 1,
                    std::uint64_t{1} << 32);
  add_option(command, "--schedule", arguments.schedules, "NAME",
             with_choices("How queries are assigned:", all_schedule_policies()))
      ->check(name_validator(names_of(all_schedule_policies())))
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(command, "--rate", arguments.rates, "N",
                    "Queries that arrive per second, at random times (Poisson)", 1e-3, 1e9);
  add_deadline_option(command, arguments.deadline_ms);
  add_number_option(command, "--allow-missed", arguments.allowed_missed, "X",
                    "Share of queries that may miss the deadline at the highest rate", 0.0, 1.0);
  add_input_option(command, "--costs", arguments.costs, "FILE",
                   "Predict with the functions written by quern bench cost (default: the times are known in advance)");
  add_machine_options(command, arguments);
  add_policy_options(command, arguments.options);
  add_number_option(
      command, "--queries", arguments.queries, "N",
      "Number of queries that arrive, raised to last ten deadlines (up to 2 million); the log is repeated as needed", 1,
      10000000);
  command.add_flag("--json", arguments.common.json, "Print figures as JSON, which scripts/plot draws");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"A simulation with a virtual clock: schedules decide from predictions, and queries take their measured "
             "times. A GPU takes batches from the waiting queries: each batch takes a fixed time, plus what its "
             "queries add, after the batches before it. Nothing is interrupted once started. The highest rate without "
             "a missed deadline is that of Ding et al. (2009), for each schedule."},
            {{"quern bench query my.quern -q log.txt -k 10 -a maxscore --times cpu.tsv"},
             {"quern bench gpu my.quern -q log.txt -k 10 -a maxscore --batches 1,256 --times gpu.tsv"},
             {"quern simulate schedule cpu.tsv gpu.tsv --cpu-threads 16 --rate 1000,10000 --deadline 50"}});
}

namespace {

constexpr std::uint64_t max_points_bytes = 16 << 20, max_line_bytes = 1 << 20;

struct SimulateThroughputArguments {
  CommonOptions common;
  std::string points, memory;
  double limit_ms = 0;
  unsigned steps = 100;
  std::optional<TransferLink> link;
  bool overlap = false;
};

Json figures_json(const InverseFit& fit) {
  return {{"base", fit.base},           {"over_x", fit.over_x},
          {"r_squared", fit.r_squared}, {"worst_residual", fit.worst_residual},
          {"points", fit.points},       {"poor", fit.is_poor()}};
}

Row row_of(const MemorySplit& split, const char* mark = "") {
  const auto size = [](double bytes) { return size_text(static_cast<std::uint64_t>(bytes)); };
  return {{"cache_bytes", split.cache_bytes},
          {"", size(split.cache_bytes), "cache"},
          {"buffer_bytes", split.buffer_bytes},
          {"", size(split.buffer_bytes), "buffer"},
          {"batch_queries", split.batch_queries, "batch", "{:.0f}"},
          {"response_us", split.response_us, "ms/batch", "{:.1f}", 1e-3},
          {"queries_per_second", split.queries_per_second, "queries/s", "{:.0f}"},
          {"", mark, " "}};
}

void warn_if_poor(const CommonOptions& common, const char* name, const InverseFit& fit) {
  if (!fit.is_poor()) return;
  say(common, "quern: warning: {} fits poorly: {} points, worst error {:.0f} %, R² = {:.3f}", name, fit.points,
      100 * fit.worst_residual, fit.r_squared);
}

void print_curve(const ThroughputModel& model, const std::vector<MemorySplit>& curve, const MemorySplit& best) {
  print(fmt::format("c(n) = {:.4g} + {:.4g} / n us per query; t(S_b) = {:.4g} + {:.4g} / S_b us per byte\n",
                    model.query_us().base, model.query_us().over_x, model.transfer_us_per_byte().base,
                    model.transfer_us_per_byte().over_x));
  constexpr std::size_t shown = 20;
  const std::size_t step = std::max<std::size_t>(1, curve.size() / shown);
  FigureTable table;
  for (std::size_t i = 0; i < curve.size(); i += step) table.add(row_of(curve[i]));
  table.add(row_of(best, "best"));
  print(table.take_text());
}

void run(const SimulateThroughputArguments& arguments) {
  make_resources(arguments.common);
  const ThroughputModel model(
      parse_measured_points(read_whole(arguments.points, {max_points_bytes, max_line_bytes}), arguments.points),
      arguments.link, arguments.overlap ? StageOverlap::full : StageOverlap::none);
  warn_if_poor(arguments.common, "c(n)", model.query_us());
  if (!arguments.link) warn_if_poor(arguments.common, "t(S_b)", model.transfer_us_per_byte());
  const double limit_us = arguments.limit_ms > 0 ? arguments.limit_ms * 1000 : std::numeric_limits<double>::infinity();
  const std::vector<MemorySplit> curve =
      throughput_curve(model, static_cast<double>(parse_size(arguments.memory)), limit_us, arguments.steps);
  if (curve.empty())
    throw InvalidArgument(
        "no split of the memory holds the lists of a query within the limit; raise --memory or --limit");
  const MemorySplit best = *std::max_element(
      curve.begin(), curve.end(),
      [](const MemorySplit& a, const MemorySplit& b) { return a.queries_per_second < b.queries_per_second; });
  if (!arguments.common.json) return print_curve(model, curve, best);
  Json json = {{"c", figures_json(model.query_us())},
               {"t", figures_json(model.transfer_us_per_byte())},
               {"best", to_json(row_of(best))}};
  json["overlap"] = arguments.overlap;
  if (arguments.link) json["link_gb_per_second"] = arguments.link->gigabytes_per_second;
  for (const MemorySplit& split : curve) json["curve"].push_back(to_json(row_of(split)));
  print_json(json);
}

}  // namespace

void add_throughput_simulation(CLI::App& simulate) {
  auto [command, arguments] = add_command<SimulateThroughputArguments>(
      simulate, "throughput", "Find the best split of GPU memory between cached lists and batch buffer", run);
  add_input_option(command, "POINTS", arguments.points, "FILE",
                   "Measured points: lines function,x,y (see formats/tables/measured_points.md)")
      ->required();
  add_option(command, "--memory", arguments.memory, "SIZE", "Total GPU memory for cache and buffer")
      ->check(size_validator())
      ->required();
  add_link_option(command, arguments.link,
                  "Predict for a link of this speed, in 10^9 bytes per second, instead of the measured one; the points "
                  "then need no t");
  command.add_flag("--overlap", arguments.overlap,
                   "Predict for a GPU that works while the next batch is prepared and copied: from the stage that "
                   "takes longest; needs points of c_host and c_gpu");
  add_number_option(command, "--limit", arguments.limit_ms, "MS",
                    "Longest time for a batch, in milliseconds (default: no limit)", 0.0, 1e9);
  add_number_option(command, "--steps", arguments.steps, "N", "Number of cache sizes to try", 1u, 100000u);
  command.add_flag("--json", arguments.common.json, "Print the fits and the curve as JSON");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"The model is that of Wang et al., section 4.2.1: 1 / (c(n) + t(S_b) dq(S_c)) queries per second. With "
             "--overlap, a query takes c_alone(n) + max(c_host(n) + t_host(S_b) dq(S_c), t(S_b) dq(S_c), c_gpu(n)).",
             "`quern bench gpu-cache --points` measures the points."},
            {{"quern simulate throughput points.csv --memory 6G --limit 150"},
             {"quern simulate throughput points.csv --memory 6G --link 375", "The same GPU with a faster link"}});
}

}  // namespace quern::tools
