#include "quern/lab/gpu/cache_bench.hpp"

#include <deque>
#include <limits>
#include <map>
#include <tuple>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/plan/cache_plan.hpp"

namespace quern {

namespace {

void check_setting(std::size_t k, std::size_t batch) {
  check_range("k", k, 1, gpu::max_results);
  check_range("queries per batch", batch, 1, gpu::max_batch_queries);
}

using Settings = std::vector<CacheSetting>;

/// Adds a setting unless it is there.
void add(Settings& all, CacheSetting setting) {
  if (setting.policy == no_policy) setting.max_admission = 1;
  if (std::find(all.begin(), all.end(), setting) == all.end()) all.push_back(std::move(setting));
}

void add_part(const CacheGrid& grid, GridPart part, const std::string& policy, Settings& all) {
  CacheSetting setting = grid.base;
  setting.policy = policy;
  switch (part) {
    case GridPart::memories:
      for (const std::string& memory : grid.memories)
        for (const std::size_t batch : grid.batches)
          add(all, {memory, policy, setting.max_admission, setting.k, batch, setting.list_buffer});
      break;
    case GridPart::buffers:
      for (const std::string& memory : grid.memories)
        for (const std::uint64_t buffer : grid.list_buffers)
          add(all, {memory, policy, setting.max_admission, setting.k, setting.batch, buffer});
      break;
    case GridPart::lambdas:
      for (const std::string& memory : grid.memories)
        for (const double lambda : grid.max_admissions)
          add(all, {memory, policy, lambda, setting.k, setting.batch, setting.list_buffer});
      break;
    case GridPart::ks:
      for (const std::size_t k : grid.ks) {
        setting.k = k;
        add(all, setting);
      }
      break;
    case GridPart::single:
      setting.batch = 1;
      add(all, setting);
      break;
  }
}

/// Orders settings by memory and plan, in the grid's order of values.
bool measured_before(const CacheSetting& a, const CacheSetting& b, const CacheGrid& grid) {
  const auto place = [](const auto& all, const auto& value) {
    return std::find(all.begin(), all.end(), value) - all.begin();
  };
  const auto key = [&](const CacheSetting& setting) {
    return std::tuple(place(grid.memories, setting.memory), setting.memory, place(grid.policies, setting.policy),
                      setting.max_admission, setting.k, setting.list_buffer);
  };
  return key(a) < key(b);
}

}  // namespace

void check_cache_grid(const CacheGrid& grid) {
  if (grid.parts.empty() || grid.memories.empty() || grid.policies.empty() || grid.batches.empty() ||
      grid.max_admissions.empty() || grid.ks.empty())
    throw InvalidArgument("a grid needs at least one part, memory, policy, batch size, lambda and k");
  for (const std::string& policy : grid.policies)
    if (policy != no_policy) cache_policy_named(policy);
  for (const std::size_t batch : grid.batches) check_setting(grid.base.k, batch);
  for (const std::size_t k : grid.ks) check_setting(k, grid.base.batch);
  for (const double lambda : grid.max_admissions) check_range("lambda", lambda, 1e-9, 1);
  for (const double limit : grid.limits_ms) check_range("a limit in ms", limit, 0, 1e9);
  const std::vector<CacheSetting> settings = settings_of(grid);
  if (settings.empty())
    throw InvalidArgument(std::string("nothing is to be measured; the part buffers needs ") +
                          option_name<"list-buffers">);
  for (const CacheSetting& setting : settings)
    if (std::find(grid.calibrating.begin(), grid.calibrating.end(), setting.memory) != grid.calibrating.end())
      throw InvalidArgument("memory " + setting.memory +
                            " is among those to be measured, so it can't be used to calibrate; choose others with " +
                            option_name<"calibrate">);
}

std::vector<CacheSetting> settings_of(const CacheGrid& grid) {
  Settings all;
  for (const GridPart part : grid.parts)
    for (const std::string& policy : grid.policies) add_part(grid, part, policy, all);
  std::stable_sort(all.begin(), all.end(),
                   [&](const CacheSetting& a, const CacheSetting& b) { return measured_before(a, b, grid); });
  return all;
}

std::vector<CacheSetting> resident_settings(const CacheGrid& grid) {
  Settings all;
  for (const std::size_t batch : grid.batches) add(all, {.k = grid.base.k, .batch = batch});
  for (const CacheSetting& setting : settings_of(grid)) add(all, {.k = setting.k, .batch = setting.batch});
  return all;
}

std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid) {
  Settings all;
  for (const std::string& memory : grid.calibrating)
    for (const std::size_t batch : grid.batches)
      if (batch > 1) add(all, {.memory = memory, .k = grid.base.k, .batch = batch});
  return all;
}

std::vector<CacheSetting> curve_settings(const CacheGrid& grid) {
  Settings all;
  std::vector<std::size_t> batches = grid.batches;
  batches.push_back(1);
  for (const std::string& policy : grid.policies)
    for (const std::size_t batch : batches)
      for (const std::string& memory : grid.memories)
        add(all, {memory, policy, grid.base.max_admission, grid.base.k, batch, grid.base.list_buffer});
  return all;
}

namespace {

/// The smallest and largest copies from which t is fitted.
constexpr std::uint64_t min_copy = std::uint64_t{64} << 10, max_copy = std::uint64_t{256} << 20;

/// The number of batches if they have as many queries as the replay's.
double batches_of(const EngineRun& run, const CopyDemand& demand) {
  return std::max(static_cast<double>(run.queries) / std::max(demand.batch_queries, 1.0), 1.0);
}

class CacheBench {
 public:
  CacheBench(CacheSubject& subject, const CacheGrid& grid, Progress& progress)
      : subject_(subject), grid_(grid), progress_(progress), model_(subject.find_us()) {}

  CacheBenchFigures measure() {
    measure_copies();
    measure_resident();
    calibrate();
    make_curves();
    for_each_that_fits("measure the grid", settings_of(grid_),
                       [&](const CacheSetting& setting) { figures_.points.push_back(measure_point(setting)); });
    for (const std::string& memory : grid_.memories)
      for (const std::string& policy : grid_.policies)
        for (const double limit_ms : grid_.limits_ms)
          for (const StageOverlap overlap : {StageOverlap::none, StageOverlap::full})
            figures_.splits.push_back(best_split({memory, policy, limit_ms, overlap, 0, std::nullopt}));
    figures_.resident = model_.resident();
    return std::move(figures_);
  }

 private:
  void measure_copies() {
    for (std::uint64_t bytes = min_copy; bytes <= max_copy; bytes *= 4) {
      for (const bool by_windows : {false, true}) {
        std::vector<TransferTime>& all = by_windows ? figures_.copied_windows : figures_.copied_lists;
        const TransferTime copied = subject_.copy_lists(bytes, by_windows);
        const bool is_more = all.empty() || copied.bytes > all.back().bytes;
        if (!is_more || copied.bytes == 0) continue;  // no more lists, or none as small
        model_.add(copied, by_windows);
        all.push_back(copied);
        if (!by_windows) figures_.pinned_copies.push_back(subject_.copy_pinned(copied.bytes));
      }
    }
  }

  template <class Step>
  void for_each(const char* what, const Settings& settings, Step&& step) {
    progress_.start(what, settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
      step(setting);
      progress_.add(1);
    }
    progress_.finish();
  }

  template <class Step>
  void for_each_that_fits(const char* what, const Settings& settings, Step&& step) {
    for_each(what, settings, [&](const CacheSetting& setting) {
      const auto is_setting = [&](const LeftOutSetting& each) { return each.setting == setting; };
      if (std::any_of(figures_.left_out.begin(), figures_.left_out.end(), is_setting)) return;
      try {
        step(setting);
      } catch (const GpuOutOfMemory& error) {
        figures_.left_out.push_back({setting, error.what()});
      }
    });
  }

  void measure_resident() {
    for_each("measure all lists in memory", resident_settings(grid_), [&](const CacheSetting& setting) {
      const EngineRun run = checked_run(setting);
      if (run.statistics.lists.copied_bytes > 0)
        throw InvalidArgument("the GPU's memory is too small to hold all lists, which measuring c(n) requires");
      model_.add(setting, run);
    });
  }

  /// Uses only runs whose batches all run in windows or all don't: the costs of mixed runs can't be separated.
  void calibrate() {
    for_each_that_fits("measure copies during work", calibrating_settings(grid_), [&](const CacheSetting& setting) {
      const CopyDemand& demand = demand_of(setting);
      if (demand.windowed != 0 && demand.windowed != 1) return;
      const EngineRun run = checked_run(setting);
      figures_.calibrating_runs.push_back({setting, demand, batches_of(run, demand), times_of(run)});
      model_.add(figures_.calibrating_runs.back());
    });
    figures_.window_copies = model_.window_copies();
    figures_.window_kernels = model_.window_kernels();
  }

  /// Throws Error if its results are wrong.
  EngineRun checked_run(const CacheSetting& setting) {
    EngineRun run = subject_.run(setting);
    const auto [first, is_new] = results_.try_emplace({setting.k, setting.batch == 1}, run.results_hash);
    if (first->second != run.results_hash)
      throw Error(
          "results differ from those with all lists in the GPU's memory: memory {}, policy {}, "
          "lambda {}, k {}, batches of {}, list buffers of {}",
          setting.memory, setting.policy, setting.max_admission, setting.k, setting.batch,
          size_text(setting.list_buffer));
    return run;
  }

  const CopyDemand& demand_of(const CacheSetting& setting) {
    for (const auto& [known, demand] : demands_)
      if (known == setting) return demand;
    return demands_.emplace_back(setting, subject_.demand(setting)).second;
  }

  void make_curves() {
    for_each_that_fits("replay the log", curve_settings(grid_), [&](const CacheSetting& setting) {
      const CopyDemand& demand = demand_of(setting);
      if (figures_.curves.empty() || figures_.curves.back().policy != setting.policy ||
          figures_.curves.back().batch != setting.batch) {
        const bool by_windows = demand.windowed > 0.5;
        figures_.curves.push_back(
            {setting.policy, setting.batch, demand.batch_queries, by_windows, model_.points(grid_.base.k, by_windows)});
        figures_.curves.back().points.transfer_bytes.push_back({0, 0});
      }
      PolicyPoints& curve = figures_.curves.back();
      MeasuredPoint& without_cache = curve.points.transfer_bytes.front();
      without_cache.y = std::max(without_cache.y, demand.needed_bytes);
      curve.batch_queries = std::min(curve.batch_queries, demand.batch_queries);
      curve.points.transfer_bytes.push_back({static_cast<double>(demand.cache_bytes), demand.copied_bytes});
    });
  }

  CachePoint measure_point(const CacheSetting& setting) {
    CachePoint point;
    point.setting = setting;
    point.demand = demand_of(setting);
    point.stages = model_.stages(setting, point.demand);
    point.resident_us = model_.resident_us(setting);
    point.run = checked_run(setting);
    point.times = times_of(point.run);
    point.in_turn = 1e6 / point.stages.in_turn_us();
    point.overlapped = 1e6 / point.stages.overlapped_us(setting.batch == 1 ? 1 : batches_of(point.run, point.demand),
                                                        point.demand.windows_per_batch);
    if (point.times.copying > 0)
      point.hidden_share = std::clamp(1 - (point.times.total - point.resident_us) / point.times.copying, 0.0, 1.0);
    return point;
  }

  CacheSplit best_split(CacheSplit best) const {
    const auto known = std::find_if(demands_.begin(), demands_.end(), [&](const auto& each) {
      return each.first.memory == best.memory && each.first.policy == best.policy;
    });
    if (known == demands_.end()) return best;  // too little memory
    const double limit_us = best.limit_ms > 0 ? 1000 * best.limit_ms : std::numeric_limits<double>::infinity();
    constexpr unsigned steps = 100;
    constexpr double min_share = 0.99;
    for (const PolicyPoints& curve : figures_.curves) {
      if (curve.policy != best.policy) continue;
      const ThroughputModel model(curve.points, {}, best.overlap);
      const auto memory_bytes = static_cast<double>(std::max<std::uint64_t>(known->second.list_bytes, 1));
      for (const MemorySplit& split : throughput_curve(model, memory_bytes, limit_us, steps)) {
        // Queries in smaller batches than the curve's need more bytes than it predicts.
        if (split.batch_queries < min_share * curve.batch_queries) continue;
        if (best.split && best.split->queries_per_second >= split.queries_per_second) continue;
        best.split = split;
        best.curve_batch = curve.batch;
      }
    }
    return best;
  }

  CacheSubject& subject_;
  const CacheGrid& grid_;
  Progress& progress_;
  CacheModel model_;
  std::map<std::pair<std::size_t, bool>, std::uint64_t> results_;  ///< hashes, by (k, one at a time)
  std::deque<std::pair<CacheSetting, CopyDemand>> demands_;
  CacheBenchFigures figures_;
};

}  // namespace

QueryTimes times_of(const EngineRun& run) {
  const auto queries = static_cast<double>(std::max<std::uint64_t>(run.queries, 1));
  const gpu::BatchTimes& device = run.statistics.device;
  QueryTimes times;
  times.total = 1e6 * run.seconds / queries;
  times.host = run.statistics.prepare_us / queries;
  times.gpu = (device.upload_us + device.kernels_us() + device.download_us) / queries;
  times.copying = run.statistics.copy_lists_us / queries;
  times.cpu = run.statistics.resume_us / queries;
  return times;
}

CacheBenchFigures measure_cache(CacheSubject& subject, const CacheGrid& grid, Progress& progress) {
  check_cache_grid(grid);
  return CacheBench(subject, grid, progress).measure();
}

namespace {

using Json = nlohmann::ordered_json;

double share_of(std::uint64_t part, std::uint64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 1;
}

FigureRow setting_row(const CacheSetting& setting) {
  return {{"memory", setting.memory, "memory"},
          {"policy", setting.policy, "policy"},
          {"max_admission", setting.max_admission, "lambda"},
          {"k", setting.k, "k"},
          {"batch", setting.batch, "batch"},
          {"list_buffer", setting.list_buffer, "buffer MB", "{:.1f}", 1e-6}};
}

Json times_json(const QueryTimes& times) {
  return {{"total_us", times.total},
          {"host_us", times.host},
          {"gpu_us", times.gpu},
          {"copying_us", times.copying},
          {"cpu_us", times.cpu}};
}

Json demand_json(const CopyDemand& demand) {
  return {{"list_bytes", demand.list_bytes},
          {"cache_bytes", demand.cache_bytes},
          {"plan_bytes", demand.plan_bytes},
          {"needed_bytes_per_query", demand.needed_bytes},
          {"copied_bytes_per_query", demand.copied_bytes},
          {"batch_queries", demand.batch_queries},
          {"windowed_share", demand.windowed},
          {"windows_per_batch", demand.windows_per_batch},
          {"windows_per_query", demand.windows},
          {"window_lists_per_query", demand.window_lists},
          {"hit_rate", demand.list_hits}};
}

Json stages_json(const StageTimes& stages) {
  return {{"query_us", stages.query},         {"transfer_us", stages.transfer}, {"host_us", stages.host},
          {"gather_us", stages.gather},       {"gpu_us", stages.gpu},           {"alone_us", stages.alone},
          {"unhidden_share", stages.unhidden}};
}

Json calibrating_run_json(const CalibratingRun& run) {
  Json json = to_json(setting_row(run.setting));
  json.update(times_json(run.times));
  json["expected"] = demand_json(run.demand);
  return json;
}

Json curve_json(const PolicyPoints& curve) {
  Json json = {{"policy", curve.policy}, {"batch", curve.batch}};
  for (const MeasuredPoint& point : curve.points.transfer_bytes)
    json["dq"].push_back({{"cache_bytes", point.x}, {"bytes_per_query", point.y}});
  return json;
}

}  // namespace

FigureRow figures_of(const TransferTime& copy, const char* head) {
  return {{"bytes", copy.bytes, head},
          {"us", copy.us},
          {"host_us", copy.host_us},
          {"gb_per_second", static_cast<double>(copy.bytes) / copy.us / 1000, "GB/s", "{:.2f}"}};
}

FigureRow figures_of(const WindowCosts& costs) {
  return {{"us_per_byte", costs.per_byte, "us per MB", "{:.2f}", 1e6},
          {"us_per_list_in_a_window", costs.per_window_list, "us per 1000 lists", "{:.2f}", 1e3},
          {"us_per_window", costs.per_window, "us per window", "{:.2f}"}};
}

FigureRow figures_of(const ResidentTimes& resident) {
  const QueryTimes& times = resident.times;
  return {{"memory", resident.setting.memory},
          {"policy", resident.setting.policy},
          {"max_admission", resident.setting.max_admission},
          {"k", resident.setting.k, "k"},
          {"batch", resident.setting.batch, "batch"},
          {"batch_queries", resident.batch_queries},
          {"total_us", times.total, "us a query", "{:.2f}"},
          {"host_us", times.host},
          {"gpu_us", times.gpu},
          {"copying_us", times.copying},
          {"cpu_us", times.cpu},
          {"c_us", resident.query_us, "c us", "{:.2f}"},
          {"c_host_us", resident.host_us, "host us", "{:.2f}"},
          {"c_gpu_us", resident.gpu_us, "GPU us", "{:.2f}"},
          {"c_alone_us", resident.alone_us, "alone us", "{:.2f}"}};
}

FigureRow figures_of(const CachePoint& point) {
  const GpuStatistics& statistics = point.run.statistics;
  const gpu::ListCacheCounts& lists = statistics.lists;
  const auto queries = static_cast<double>(std::max<std::uint64_t>(point.run.queries, 1));
  FigureRow row = setting_row(point.setting);
  append(row,
         {{"whole_index", point.demand.whole_index},
          {"queries", point.run.queries},
          {"batches", statistics.batches},
          {"windows", statistics.windows},
          {"on_cpu", statistics.on_cpu},
          {"continued_by_cpu", statistics.resumed},
          {"queries_per_second", point.measured(), "queries/s", "{:.0f}"},
          {"model_queries_per_second", point.in_turn, "model", "{:.0f}"},
          {"measured_by_model", point.measured() / point.in_turn, "ratio", "{:.2f}"},
          {"overlap_queries_per_second", point.overlapped, "overlap", "{:.0f}"},
          {"measured_by_overlap", point.measured() / point.overlapped, "ratio", "{:.2f}"},
          {"hit_rate", share_of(lists.resident_lists, lists.lists), "hits", "{:.1f} %", 100},
          {"hit_rate_bytes", lists.bytes > 0 ? 1 - share_of(lists.copied_bytes, lists.bytes) : 1, "bytes", "{:.1f} %",
           100},
          {"copied_bytes_per_query", static_cast<double>(lists.copied_bytes) / queries, "copied KB", "{:.1f}", 1e-3},
          {"total_us", point.times.total},
          {"gpu_us", point.times.gpu, "GPU us", "{:.2f}"},
          {"copying_us", point.times.copying, "copy us", "{:.2f}"},
          {"host_us", point.times.host, "host us", "{:.2f}"},
          {"cpu_us", point.times.cpu, "CPU us", "{:.2f}"},
          {"resident_us", point.resident_us},
          {"hidden_share", point.hidden_share ? Json(*point.hidden_share) : Json(), "hidden", "{:.0f} %", 100},
          {"expected", demand_json(point.demand)},
          {"stages", stages_json(point.stages)}});
  return row;
}

FigureRow figures_of(const CacheSplit& split) {
  const auto best = [&](double MemorySplit::*figure) { return split.split ? Json((*split.split).*figure) : Json(); };
  return {{"memory", split.memory},
          {"policy", split.policy, "policy"},
          {"limit_ms", split.limit_ms > 0 ? Json(split.limit_ms) : Json(), "limit ms"},
          {"model", split.overlap == StageOverlap::full ? "overlap" : "in turn", "model"},
          {"queries_per_second", best(&MemorySplit::queries_per_second), "queries/s", "{:.0f}"},
          {"cache_bytes", best(&MemorySplit::cache_bytes), "cache MB", "{:.1f}", 1e-6},
          {"buffer_bytes", best(&MemorySplit::buffer_bytes), "buffer MB", "{:.1f}", 1e-6},
          {"batch_queries", best(&MemorySplit::batch_queries), "batch", "{:.0f}"},
          {"response_us", best(&MemorySplit::response_us), "ms", "{:.1f}", 1e-3},
          {"curve_batch", split.curve_batch}};
}

FigureRow figures_of(const LeftOutSetting& left_out) {
  FigureRow row = setting_row(left_out.setting);
  row.push_back({"why", left_out.why, "left out"});
  return row;
}

Json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid) {
  const auto all = [](const auto& each, auto... more) {
    Json rows = Json::array();
    for (const auto& one : each) rows.push_back(to_json(figures_of(one, more...)));
    return rows;
  };
  Json json = {{"base", to_json(setting_row(grid.base))},
               {"memories", grid.memories},
               {"resident", all(figures.resident)},
               {"copied_lists", all(figures.copied_lists, "")},
               {"copied_windows", all(figures.copied_windows, "")},
               {"pinned_copies", all(figures.pinned_copies, "")},
               {"window_copies", to_json(figures_of(figures.window_copies))},
               {"window_kernels", to_json(figures_of(figures.window_kernels))},
               {"points", all(figures.points)},
               {"splits", all(figures.splits)},
               {"left_out", all(figures.left_out)}};
  for (const CalibratingRun& run : figures.calibrating_runs)
    json["calibrating_runs"].push_back(calibrating_run_json(run));
  for (const PolicyPoints& curve : figures.curves) json["curves"].push_back(curve_json(curve));
  return json;
}

}  // namespace quern
