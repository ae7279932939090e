#include "quern/lab/gpu/cache_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/lab/gpu/cache_model.hpp"
#include "quern/plan/cache_policy.hpp"

namespace quern {

namespace {

void check_setting(std::size_t k, std::size_t batch) {
  check_range("k", k, 1, gpu::max_results);
  check_range("queries per batch", batch, 1, gpu::max_batch_queries);
}

/// Collects distinct settings.
class SettingList {
 public:
  void add(CacheSetting setting) {
    if (setting.policy == no_policy) setting.max_admission = 1;
    if (std::find(settings_.begin(), settings_.end(), setting) == settings_.end())
      settings_.push_back(std::move(setting));
  }
  std::vector<CacheSetting> take() { return std::move(settings_); }

 private:
  std::vector<CacheSetting> settings_;
};

void add_part(const CacheGrid& grid, GridPart part, const std::string& policy, SettingList& list) {
  CacheSetting setting = grid.base;
  setting.policy = policy;
  switch (part) {
    case GridPart::memories:
      for (const std::string& memory : grid.memories)
        for (const std::size_t batch : grid.batches)
          list.add({memory, policy, setting.max_admission, setting.k, batch});
      break;
    case GridPart::lambdas:
      for (const double lambda : grid.max_admissions)
        list.add({setting.memory, policy, lambda, setting.k, setting.batch});
      break;
    case GridPart::ks:
      for (const std::size_t k : grid.ks) list.add({setting.memory, policy, setting.max_admission, k, setting.batch});
      break;
    case GridPart::single:
      list.add({setting.memory, policy, setting.max_admission, setting.k, 1});
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
                      setting.max_admission, setting.k);
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
  for (const CacheSetting& setting : settings_of(grid))
    if (std::find(grid.calibrating.begin(), grid.calibrating.end(), setting.memory) != grid.calibrating.end())
      throw InvalidArgument("memory " + setting.memory +
                            " is among those to be measured, so it can't be used to calibrate; choose others with " +
                            option_name<"calibrate">);
}

std::vector<CacheSetting> settings_of(const CacheGrid& grid) {
  SettingList list;
  for (const GridPart part : grid.parts)
    for (const std::string& policy : grid.policies) add_part(grid, part, policy, list);
  std::vector<CacheSetting> settings = list.take();
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const CacheSetting& a, const CacheSetting& b) { return measured_before(a, b, grid); });
  return settings;
}

std::vector<CacheSetting> resident_settings(const CacheGrid& grid) {
  SettingList list;
  for (const std::size_t batch : grid.batches) list.add({.k = grid.base.k, .batch = batch});
  for (const CacheSetting& setting : settings_of(grid)) list.add({.k = setting.k, .batch = setting.batch});
  return list.take();
}

std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid) {
  SettingList list;
  for (const std::string& memory : grid.calibrating)
    for (const std::size_t batch : grid.batches)
      if (batch > 1) list.add({.memory = memory, .k = grid.base.k, .batch = batch});
  return list.take();
}

std::vector<CacheSetting> curve_settings(const CacheGrid& grid) {
  SettingList list;
  std::vector<std::size_t> batches = grid.batches;
  batches.push_back(1);
  for (const std::string& policy : grid.policies)
    for (const std::size_t batch : batches)
      for (const std::string& memory : grid.memories)
        list.add({memory, policy, grid.base.max_admission, grid.base.k, batch});
  return list.take();
}

namespace {

/// The smallest and largest copies from which t is fitted.
constexpr std::uint64_t min_copy = std::uint64_t{64} << 10, max_copy = std::uint64_t{256} << 20;

std::string text_of(const CacheSetting& setting) {
  return fmt::format("memory {}, policy {}, lambda {}, k {}, batches of {}", setting.memory, setting.policy,
                     setting.max_admission, setting.k, setting.batch);
}

/// The number of batches if they have as many queries as the replay's.
double batches_of(const EngineRun& run, const CopyDemand& demand) {
  return std::max(static_cast<double>(run.queries) / std::max(demand.batch_queries, 1.0), 1.0);
}

/// Runs the steps of the benchmark.
class CacheBench {
 public:
  CacheBench(CacheSubject& subject, const CacheGrid& grid, Progress& progress)
      : subject_(subject), grid_(grid), progress_(progress), model_(subject.find_us()) {}

  CacheBenchFigures measure() {
    measure_copies();
    measure_resident();
    calibrate();
    make_curves();
    measure_points();
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

  void measure_resident() {
    const std::vector<CacheSetting> settings = resident_settings(grid_);
    progress_.start("measure all lists in memory", settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
      const EngineRun run = subject_.run(setting);
      if (run.statistics.lists.copied_bytes > 0)
        throw InvalidArgument("the GPU's memory is too small to hold all lists, which measuring c(n) requires");
      check_results(setting, run);
      model_.add(setting, run);
      progress_.add(1);
    }
    progress_.finish();
  }

  /// Uses only runs whose batches all go by windows or all don't: the costs of mixed runs can't be separated.
  void calibrate() {
    const std::vector<CacheSetting> settings = calibrating_settings(grid_);
    progress_.start("measure copies during work", settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
      if (const CopyDemand& demand = demand_of(setting); demand.windowed == 0 || demand.windowed == 1) {
        const EngineRun run = subject_.run(setting);
        check_results(setting, run);
        figures_.calibrating_runs.push_back({setting, demand, batches_of(run, demand), times_of(run)});
        model_.add(figures_.calibrating_runs.back());
      }
      progress_.add(1);
    }
    progress_.finish();
    figures_.window_copies = model_.window_copies();
    figures_.window_kernels = model_.window_kernels();
  }

  void check_results(const CacheSetting& setting, const EngineRun& run) {
    const auto [first, is_new] = results_.try_emplace({setting.k, setting.batch == 1}, run.results_hash);
    if (first->second != run.results_hash)
      throw Error("results differ from those with all lists in the GPU's memory: " + text_of(setting));
  }

  const CopyDemand& demand_of(const CacheSetting& setting) {
    for (const auto& [known, demand] : demands_)
      if (known == setting) return demand;
    return demands_.emplace_back(setting, subject_.demand(setting)).second;
  }

  void make_curves() {
    const std::vector<CacheSetting> settings = curve_settings(grid_);
    progress_.start("replay the log", settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
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
      progress_.add(1);
    }
    progress_.finish();
  }

  void measure_points() {
    const std::vector<CacheSetting> settings = settings_of(grid_);
    progress_.start("measure the grid", settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
      figures_.points.push_back(measure_point(setting));
      progress_.add(1);
    }
    progress_.finish();
  }

  CachePoint measure_point(const CacheSetting& setting) {
    CachePoint point;
    point.setting = setting;
    point.demand = demand_of(setting);
    point.stages = model_.stages(setting, point.demand);
    point.resident_us = model_.resident_us(setting);
    point.run = subject_.run(setting);
    check_results(setting, point.run);
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

CpuWork cpu_work_of(const GpuStatistics& statistics) { return {statistics.resumed, statistics.resume_us}; }

QueryTimes times_of(const EngineRun& run) {
  const auto queries = static_cast<double>(std::max<std::uint64_t>(run.queries, 1));
  const gpu::BatchTimes& device = run.statistics.device;
  QueryTimes times;
  times.total = 1e6 * run.seconds / queries;
  times.host = run.statistics.prepare_us / queries;
  times.gpu = (device.upload_us + device.kernels_us() + device.download_us) / queries;
  times.copying = run.statistics.copy_lists_us / queries;
  times.cpu = cpu_work_of(run.statistics).us / queries;
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

Json setting_json(const CacheSetting& setting) {
  return {{"memory", setting.memory},
          {"policy", setting.policy},
          {"max_admission", setting.max_admission},
          {"k", setting.k},
          {"batch", setting.batch}};
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

Json point_json(const CachePoint& point) {
  const GpuStatistics& statistics = point.run.statistics;
  const gpu::ListCacheCounts& lists = statistics.lists;
  const auto queries = static_cast<double>(std::max<std::uint64_t>(point.run.queries, 1));
  Json json = setting_json(point.setting);
  json["whole_index"] = point.demand.whole_index;
  json["queries"] = point.run.queries;
  json["batches"] = statistics.batches;
  json["windows"] = statistics.windows;
  json["on_cpu"] = statistics.on_cpu;
  json["continued_by_cpu"] = cpu_work_of(statistics).queries;
  json["hit_rate"] = share_of(lists.resident_lists, lists.lists);
  json["hit_rate_bytes"] = lists.bytes > 0 ? 1 - share_of(lists.copied_bytes, lists.bytes) : 1;
  json["copied_bytes_per_query"] = static_cast<double>(lists.copied_bytes) / queries;
  json.update(times_json(point.times));
  json["resident_us"] = point.resident_us;
  json["hidden_share"] = nullptr;
  if (point.hidden_share) json["hidden_share"] = *point.hidden_share;
  json["queries_per_second"] = point.measured();
  json["model_queries_per_second"] = point.in_turn;
  json["overlap_queries_per_second"] = point.overlapped;
  json["measured_by_model"] = point.measured() / point.in_turn;
  json["measured_by_overlap"] = point.measured() / point.overlapped;
  json["expected"] = demand_json(point.demand);
  json["stages"] = stages_json(point.stages);
  return json;
}

Json resident_json(const ResidentTimes& resident) {
  Json json = setting_json(resident.setting);
  json["batch_queries"] = resident.batch_queries;
  json.update(times_json(resident.times));
  json["c_us"] = resident.query_us;
  json["c_host_us"] = resident.host_us;
  json["c_gpu_us"] = resident.gpu_us;
  json["c_alone_us"] = resident.alone_us;
  return json;
}

Json calibrating_run_json(const CalibratingRun& run) {
  Json json = setting_json(run.setting);
  json.update(times_json(run.times));
  json["expected"] = demand_json(run.demand);
  return json;
}

Json window_costs_json(const WindowCosts& costs) {
  return {{"us_per_byte", costs.per_byte},
          {"us_per_list_in_a_window", costs.per_window_list},
          {"us_per_window", costs.per_window}};
}

Json copies_json(const std::vector<TransferTime>& copies) {
  Json rows = Json::array();
  for (const TransferTime& copy : copies)
    rows.push_back({{"bytes", copy.bytes},
                    {"us", copy.us},
                    {"host_us", copy.host_us},
                    {"gb_per_second", static_cast<double>(copy.bytes) / copy.us / 1000}});
  return rows;
}

Json curve_json(const PolicyPoints& curve) {
  Json json = {{"policy", curve.policy}, {"batch", curve.batch}};
  for (const MeasuredPoint& point : curve.points.transfer_bytes)
    json["dq"].push_back({{"cache_bytes", point.x}, {"bytes_per_query", point.y}});
  return json;
}

Json split_json(const CacheSplit& split) {
  Json json = {{"memory", split.memory},
               {"policy", split.policy},
               {"limit_ms", nullptr},
               {"model", split.overlap == StageOverlap::full ? "overlap" : "in turn"},
               {"queries_per_second", nullptr}};
  if (split.limit_ms > 0) json["limit_ms"] = split.limit_ms;
  if (!split.split) return json;
  json["queries_per_second"] = split.split->queries_per_second;
  json["cache_bytes"] = split.split->cache_bytes;
  json["buffer_bytes"] = split.split->buffer_bytes;
  json["batch_queries"] = split.split->batch_queries;
  json["response_us"] = split.split->response_us;
  json["curve_batch"] = split.curve_batch;
  return json;
}

}  // namespace

Json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid) {
  Json json = {{"base", setting_json(grid.base)}, {"memories", grid.memories}};
  for (const ResidentTimes& resident : figures.resident) json["resident"].push_back(resident_json(resident));
  json["copied_lists"] = copies_json(figures.copied_lists);
  json["copied_windows"] = copies_json(figures.copied_windows);
  json["pinned_copies"] = copies_json(figures.pinned_copies);
  for (const CalibratingRun& run : figures.calibrating_runs)
    json["calibrating_runs"].push_back(calibrating_run_json(run));
  json["window_copies"] = window_costs_json(figures.window_copies);
  json["window_kernels"] = window_costs_json(figures.window_kernels);
  for (const PolicyPoints& curve : figures.curves) json["curves"].push_back(curve_json(curve));
  for (const CachePoint& point : figures.points) json["points"].push_back(point_json(point));
  for (const CacheSplit& split : figures.splits) json["splits"].push_back(split_json(split));
  return json;
}

}  // namespace quern
