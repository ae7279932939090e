
#include <deque>
#include <thread>

#include "quern/gpu/query_backend.hpp"
#include "quern/lab/gpu/energy_meter.hpp"
#include "quern/lab/gpu/shared_stream.hpp"
#include "quern/lab/list_profile.hpp"
#include "quern/lab/measuring.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_simulation.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

/// The processors that answer queries.
enum class StreamDevice { cpu, gpu, both };
constexpr NamedValue<StreamDevice> stream_devices[] = {{"cpu", StreamDevice::cpu, "the CPU alone"},
                                                       {"gpu", StreamDevice::gpu, "GPUs alone"},
                                                       {"both", StreamDevice::both, "both, by each --schedule"}};

struct BenchStreamArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::vector<std::string> shards;
  std::string algorithm{all_algorithms().front().name}, costs;
  std::vector<std::string> devices = {"cpu"}, schedules = {"first"}, times;
  std::size_t k = 10;
  std::vector<double> rates = {1000};
  double deadline_ms = 50;
  unsigned cpu_threads = 0;
  std::optional<unsigned> gpu_threads;
  bool one_by_one = false;
  SharedStreamOptions stream;
  GpuOptions gpu;
  GpuMemoryArguments gpu_memory;
  std::string strategy{gpu::all_strategies().front().name};
};

/// A set-up of processors, and the schedule that they follow.
struct StreamSetUp {
  StreamDevice device;
  std::string schedule;
};

std::vector<StreamSetUp> set_ups(const BenchStreamArguments& arguments) {
  std::vector<StreamSetUp> all;
  for (const std::string& name : arguments.devices) {
    const StreamDevice device = find_named(stream_devices, name, "device").value;
    if (device != StreamDevice::both)
      all.push_back({device, name});
    else
      for (const std::string& schedule : arguments.schedules) all.push_back({device, schedule});
  }
  return all;
}

/// The streams of all set-ups, measured and simulated.
class StreamBench {
 public:
  StreamBench(const BenchStreamArguments& arguments, const Resources& resources)
      : arguments_(arguments),
        index_(IndexShards::open(arguments.shards)),
        engines_(index_, arguments.scoring, arguments.queries),
        algorithm_(algorithm_named(arguments.algorithm)),
        queries_(engines_.first()
                     .reader(query_kind(arguments.queries.layout.format))
                     .read(texts_of(read_queries(arguments.queries, arguments.common)), resources.threads)) {
    const std::vector<QueryTimeTable> times = read_times(arguments.times);
    check_times(times);
    if (!arguments.costs.empty()) costs_ = CostModel(read_costs(arguments.costs, origin()));
    log_ = make_stream_log(engines_.backend(), queries_.views(), algorithm_, arguments.k, resources.threads, costs_,
                           arguments.strategy, arguments.stream.max_batch);
    if (!times.empty()) simulate_with(times);
    if (uses_gpu()) open_gpu(resources);
  }

  const IndexShards& index() const { return index_; }

  Row run(const StreamSetUp& set_up, double rate) {
    SharedStreamOptions options = arguments_.stream;
    options.schedule = set_up.schedule;
    options.queries_per_second = rate;
    options.deadline_us = 1000 * arguments_.deadline_ms;
    options.schedule_options.cpu_threads = cpu_threads(set_up.device);
    options.gpu_threads = gpu_threads(set_up.device);
    options.schedule_options.gpus = set_up.device == StreamDevice::cpu ? 0 : gpus_in_use_;
    options.schedule_options.gpu_batch_us = measured_ ? measured_->expected_batch_us() : built_in_batch_us;
    FallibleGpus* const gpus = set_up.device == StreamDevice::cpu ? nullptr : fallible_gpus_.get();
    cpu_energy_.start();
    const std::optional<double> before = gpu_joules();
    const SharedStreamFigures figures =
        measure_shared_stream(engines_.backend(), gpus, log_, algorithm_, arguments_.k, options);
    const std::optional<double> cpu = cpu_energy_.joules(), after = gpu_joules();
    const auto queries = static_cast<double>(figures.measured.queries);
    Row row = {{"device", name_of_value(stream_devices, set_up.device), "device"},
               {"schedule", set_up.schedule, "schedule"},
               {"rate", rate, "queries/s", "{:.0f}"},
               {"measured/answered_per_second", queries / figures.measured.seconds, "answered/s", "{:.0f}"}};
    append(row, response_figures(figures.measured.response, {"mean ms", "p50", "", "p95", "p99"}, "measured/"));
    append(row, stream_counts(figures.measured, "measured/"));
    const Json gpu = before && after ? Json((*after - *before) / queries) : Json();
    append(row, {{"measured/cpu_joules_per_query", cpu ? Json(*cpu / queries) : Json(), "CPU J/1000", "{:.2f}", 1e3},
                 {"measured/gpu_joules_per_query", gpu, "GPU J/1000", "{:.2f}", 1e3},
                 {"failures", api::spelled(figures.failures)}});
    if (!measured_) {
      row.push_back({"simulated", nullptr});
      return row;
    }
    const double hand_over_us = measure_hand_over_us(std::max(1u, options.schedule_options.cpu_threads), rate);
    row.push_back({"hand_over_us", hand_over_us});
    const ScheduleFigures simulated = simulate(options, figures.arrivals_us, hand_over_us);
    append(row, response_figures(simulated.response, {"sim. mean", "", "", "", "sim. p99"}, "simulated/"));
    Row counts = stream_counts(simulated, "simulated/");
    for (Figure& figure : counts) figure.head.clear();
    append(row, counts);
    return row;
  }

  /// Each query is sent when the previous one is answered.
  Row run_one_by_one(const StreamSetUp& set_up) {
    constexpr unsigned passes = 5;
    Row row = {{"device", name_of_value(stream_devices, set_up.device), "device"},
               {"schedule", set_up.schedule, "schedule"}};
    append(row,
           time_figures(measure_one_by_one(log_, passes, single_search(set_up)), {"mean us", "p50", "", "p95", "p99"}));
    return row;
  }

 private:
  /// A batch's expected time beyond its queries' own, without --times.
  static constexpr double built_in_batch_us = 50;
  /// Threads that prepare a GPU's batches if the CPU also answers queries.
  static constexpr unsigned default_gpu_threads = 2;
  /// For the thread that waits for the GPU, CUDA's threads and the system's.
  static constexpr unsigned cores_beside_gpu = 3;

  bool uses_gpu() const {
    const std::vector<StreamSetUp> all = set_ups(arguments_);
    return std::any_of(all.begin(), all.end(),
                       [](const StreamSetUp& set_up) { return set_up.device != StreamDevice::cpu; });
  }
  TimesOrigin origin() const {
    return origin_here(index_[0], uses_gpu() ? std::optional(arguments_.gpu.gpu) : std::nullopt);
  }
  /// Throws InvalidArgument if times are of another index or machine.
  void check_times(const std::vector<QueryTimeTable>& times) const {
    std::vector<TimesOrigin> origins = {origin()};
    origins.insert(origins.end(), times.begin(), times.end());
    check_same_origin(origins);
  }

  /// Cores without the one that sends.
  static unsigned cores() { return std::max(2u, std::thread::hardware_concurrency()) - 1; }
  unsigned cpu_threads(StreamDevice device) const {
    if (device == StreamDevice::gpu) return 0;
    if (arguments_.cpu_threads > 0) return arguments_.cpu_threads;
    if (device == StreamDevice::cpu) return cores();
    // The GPU's threads need cores too: with too few left, all threads wait for each other.
    const unsigned for_gpu = arguments_.gpu_threads.value_or(default_gpu_threads) + cores_beside_gpu;
    return std::max(cores(), for_gpu + 1) - for_gpu;
  }
  unsigned gpu_threads(StreamDevice device) const {
    return arguments_.gpu_threads.value_or(device == StreamDevice::both ? default_gpu_threads : cores());
  }

  /// The GPUs' energy counters; empty without a GPU or a counter.
  std::optional<double> gpu_joules() const { return gpu_energy_ ? gpu_energy_->joules(gpus_in_use_) : std::nullopt; }
  SingleSearch single_search(const StreamSetUp& set_up) {
    if (set_up.device == StreamDevice::cpu)
      return [this](QueryView query) { return engines_.backend().search(query, algorithm_, arguments_.k); };
    if (set_up.device == StreamDevice::gpu) {
      return [this](QueryView query) {
        return std::move(fallible_gpus_->search({{&query, 1}, &algorithm_, arguments_.k}).front());
      };
    }
    HybridOptions options;
    options.schedule = set_up.schedule;
    options.schedule_options.cpu_threads = cpu_threads(set_up.device);
    options.strategy = arguments_.strategy;
    const auto both = std::make_shared<HybridBackend>(engines_.backend(), *fallible_gpus_, costs_, options);
    return [this, both](QueryView query) {
      std::vector<ScoredDocument> found;
      AnswerConsumer consumer;
      consumer.take = [&](std::size_t, const QueryAnswer& answer) { found = answer.documents; };
      quern::run(*both, {{&query, 1}, &algorithm_, arguments_.k}, consumer);
      return found;
    };
  }

  void open_gpu(const Resources& resources) {
    const std::vector<std::string> plans = api::plans_by_shard(arguments_.gpu_memory.plans, index_);
    std::vector<gpu::GpuMemoryOptions> memory;
    for (std::size_t shard = 0; shard < index_.size(); ++shard)
      memory.push_back(
          plans_.emplace_back(memory_options(arguments_.gpu_memory), index_[shard], plans[shard]).options());
    GpuOptions options = arguments_.gpu;
    options.strategy = &gpu::strategy_named(arguments_.strategy);
    gpus_ = std::make_unique<GpuShards>(engines_.backend().engines(), options, memory, false, *resources.progress);
    fallible_gpus_ =
        std::make_unique<FallibleGpus>(*gpus_, [](const std::string& failure) { throw CudaError(failure); });
    const std::vector<GpuInfo> gpus = list_gpus();
    gpus_in_use_ = static_cast<unsigned>(gpu::gpu_numbers(options.gpu, options.gpus).size());
    gpu_energy_ = std::make_unique<EnergyMeter>(std::span(gpus).subspan(options.gpu, gpus_in_use_));
  }

  void simulate_with(const std::vector<QueryTimeTable>& times) {
    measured_ = measured_stream(times, {arguments_.algorithm, arguments_.strategy, arguments_.k}, nullptr);
    if (measured_->queries.size() != log_.queries.size())
      throw InvalidArgument("--times has {} queries, but the log has {}; use the times of this log",
                            measured_->queries.size(), log_.queries.size());
    for (std::size_t i = 0; i < log_.expected.size(); ++i)
      log_.expected[i].missing_bytes = measured_->queries[i].waiting.missing_bytes;
  }

  ScheduleFigures simulate(const SharedStreamOptions& options, const std::vector<double>& arrivals_us,
                           double hand_over_us) const {
    std::vector<SimulatedQuery> queries;
    for (const double arrival_us : arrivals_us) {
      const std::size_t place = queries.size() % log_.queries.size();
      SimulatedQuery& query = queries.emplace_back(measured_->queries[place]);
      query.waiting = log_.expected[place];
      query.waiting.arrival_us = arrival_us;
      query.waiting.deadline_us = options.deadline_us;
    }
    const SimulatedMachine machine{options.schedule_options.cpu_threads,
                                   options.schedule_options.gpus,
                                   options.max_batch,
                                   options.schedule_options.gpu_batches,
                                   measured_->gpu_overhead,
                                   measured_->gpu_latency,
                                   hand_over_us};
    return simulate_schedule(queries, machine, *schedule_policy_named(options.schedule).make(options.schedule_options));
  }

  const BenchStreamArguments& arguments_;
  const IndexShards index_;
  ShardEngines engines_;
  const QueryAlgorithm& algorithm_;
  ParsedQueries queries_;
  CostModel costs_;
  StreamLog log_;
  std::optional<MeasuredStream> measured_;
  std::deque<api::ShardGpuMemory> plans_;  ///< by shard
  unsigned gpus_in_use_ = 0;
  std::unique_ptr<GpuShards> gpus_;
  std::unique_ptr<FallibleGpus> fallible_gpus_;
  CpuEnergyMeter cpu_energy_;
  std::unique_ptr<EnergyMeter> gpu_energy_;
};

void run(const BenchStreamArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  check_strategy(arguments.strategy, {arguments.algorithm});
  BenchReport report("stream", arguments.common);
  StreamBench bench(arguments, resources);
  report.json.update({{"index", index_json(bench.index())},
                      {"algorithm", arguments.algorithm},
                      {"k", arguments.k},
                      {"scores", name_of_value(scores_names, arguments.scoring.scores)},
                      {"idf", name_of_value(idf_names, arguments.scoring.idf)},
                      {"deadline_ms", arguments.deadline_ms},
                      {"max_batch", arguments.stream.max_batch},
                      {"streams", Json::array()},
                      {"one_by_one", Json::array()}});
  const std::vector<StreamSetUp> all = set_ups(arguments);
  const std::size_t streams = arguments.one_by_one ? 1 : arguments.rates.size();
  resources.progress->start("streams", all.size() * streams, "streams");
  for (const StreamSetUp& set_up : all) {
    for (std::size_t i = 0; i < streams; ++i) {
      if (arguments.one_by_one)
        report.add("one_by_one", bench.run_one_by_one(set_up));
      else
        report.add("streams", bench.run(set_up, arguments.rates[i]));
      resources.progress->add(1);
    }
  }
  resources.progress->finish();
  report.print_table();
  report.finish();
}

}  // namespace

void add_stream_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchStreamArguments>(
      bench, "stream", "Measure response times of queries that arrive at random at a CPU and a GPU", run);
  add_shards_argument(command, arguments.shards)->required();
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_name_option(command, "-a,--algorithm", arguments.algorithm, all_algorithms(), "Query algorithm");
  add_number_option(command, "-k", arguments.k, "N", "Results per query", 1, gpu::max_results);
  add_name_option(command, "--device", arguments.devices, stream_devices, with_choices("Device:", stream_devices));
  add_name_option(command, "--schedule", arguments.schedules, all_schedule_policies(),
                  with_choices("With both, how queries are assigned:", all_schedule_policies()));
  add_number_option(command, "--rate", arguments.rates, "N",
                    "Queries that arrive per second, at random times (Poisson)", 1e-3, 1e9);
  command.add_flag("--one-by-one", arguments.one_by_one,
                   "Instead of using a rate, send each query of the log when the previous one has been answered");
  add_deadline_option(command, arguments.deadline_ms);
  add_number_option(command, "--seconds", arguments.stream.seconds, "S", "Length of each stream, in seconds", 0.01,
                    1e4);
  add_number_option(command, "--cpu-threads", arguments.cpu_threads, "N",
                    "CPU threads that answer queries (default: all cores but one for sending; with both, minus "
                    "gpu-threads of --gpu-options and three more)",
                    1u, max_threads);
  add_number_option(command, "--max-batch", arguments.stream.max_batch, "N",
                    "Largest batch of queries that a GPU answers together", 1, gpu::max_batch_queries);
  add_input_option(command, "--costs", arguments.costs, "FILE",
                   "Predict with the functions written by quern bench cost (default: built in)");
  add_input_option(
      command, "--times", arguments.times, "FILE",
      "Also simulate each stream, with these times of the log's queries, from quern bench query --times and "
      "quern bench gpu --times")
      ->delimiter(',');
  add_score_options(command, arguments.scoring);
  add_gpu_option(command, arguments.gpu.gpu);
  add_gpus_option(command, arguments.gpu.gpus);
  add_gpu_memory_options(command, arguments.gpu_memory);
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_strategy_options(settings, arguments.strategy, arguments.gpu.strategy_options);
    add_ranked_list_options(settings, arguments.gpu_memory.lists);
    add_number_option(settings, "--gpu-threads", arguments.gpu_threads, "N",
                      "CPU threads that prepare a GPU's batches (default: 2 with both, else all cores but one)", 1u,
                      max_threads);
    add_gpu_batches_option(settings, arguments.stream.schedule_options);
  });
  add_policy_options(command, arguments.stream.schedule_options);
  for (const char* option : {"--rate", "--seconds", "--deadline", "--times", "--max-batch"})
    command.get_option("--one-by-one")->excludes(option);
  set_notes(
      command,
      {"Response times start at a query's scheduled arrival, even if it could not be accepted then. All answers are "
       "compared with the CPU's. A simulation uses the same arrivals and predictions, and measured durations."},
      {{"quern bench stream my.quern -q log.txt --rate 1000,10000 --deadline 10"},
       {"quern bench stream my.quern -q log.txt --rate 10000 --times cpu.tsv --costs my.costs"},
       {"quern bench stream my.quern -q log.txt --device cpu,gpu,both --schedule first,ding --rate 50000"},
       {"quern bench stream my.quern -q log.txt --device cpu,gpu,both --one-by-one --costs my.costs"}});
}

}  // namespace quern::tools
