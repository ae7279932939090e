#include "quern/lab/gpu/cache_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/lab/gpu/cache_model.hpp"

namespace quern {
namespace {

/// Sizes of copies from which t is fitted: from 64 KiB to 256 MiB.
constexpr std::uint64_t least_copy = std::uint64_t{64} << 10, most_copy = std::uint64_t{256} << 20;

std::string text_of(const CacheSetting& setting) {
  return fmt::format("memory {}, policy {}, lambda {}, k {}, batches of {}", setting.memory, setting.policy,
                     setting.max_admission, setting.k, setting.batch);
}

/// The batches of so many queries as the replay's batches have.
double batches_of(const EngineRun& run, const CopyDemand& demand) {
  return std::max(static_cast<double>(run.queries) / std::max(demand.batch_queries, 1.0), 1.0);
}

/// Measures one thing after another.
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
    for (std::uint64_t bytes = least_copy; bytes <= most_copy; bytes *= 4) {
      for (const bool by_windows : {false, true}) {
        std::vector<TransferTime>& all = by_windows ? figures_.copied_windows : figures_.copied_lists;
        const TransferTime copied = subject_.copy_lists(bytes, by_windows);
        const bool is_more = all.empty() || copied.bytes > all.back().bytes;
        if (!is_more || copied.bytes == 0) continue;  // there are no more lists, or none so small
        model_.add(copied, by_windows);
        all.push_back(copied);
        if (!by_windows) figures_.pinned_copies.push_back(subject_.copy_pinned(copied.bytes));
      }
    }
  }

  void measure_resident() {
    const std::vector<CacheSetting> settings = resident_settings(grid_);
    progress_.start("all lists in the memory", settings.size(), "settings");
    for (const CacheSetting& setting : settings) {
      const EngineRun run = subject_.run(setting);
      if (run.statistics.lists.copied_bytes > 0)
        throw InvalidArgument("the GPU has not enough memory for all lists, which c(n) is measured with");
      check_results(setting, run);
      model_.add(setting, run);
      progress_.add(1);
    }
    progress_.finish();
  }

  /// Runs of which some batches go by windows and others do not could not tell apart what either costs.
  void calibrate() {
    const std::vector<CacheSetting> settings = calibrating_settings(grid_);
    progress_.start("copies beside work", settings.size(), "settings");
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
      throw Error("the results are not those of the GPU with all lists in its memory: " + text_of(setting));
  }

  const CopyDemand& demand_of(const CacheSetting& setting) {
    for (const auto& [known, demand] : demands_)
      if (known == setting) return demand;
    return demands_.emplace_back(setting, subject_.demand(setting)).second;
  }

  void make_curves() {
    const std::vector<CacheSetting> settings = curve_settings(grid_);
    progress_.start("replays of the log", settings.size(), "settings");
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
    progress_.start("the grid", settings.size(), "settings");
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

  CacheSplit best_split(CacheSplit of) const {
    const auto known = std::find_if(demands_.begin(), demands_.end(), [&](const auto& each) {
      return each.first.memory == of.memory && each.first.policy == of.policy;
    });
    const double limit_us = of.limit_ms > 0 ? 1000 * of.limit_ms : std::numeric_limits<double>::infinity();
    constexpr unsigned steps = 100;
    constexpr double least_share = 0.99;
    for (const PolicyPoints& curve : figures_.curves) {
      if (curve.policy != of.policy) continue;
      const ThroughputModel model(curve.points, {}, of.overlap);
      const auto memory_bytes = static_cast<double>(std::max<std::uint64_t>(known->second.list_bytes, 1));
      for (const MemorySplit& split : throughput_curve(model, memory_bytes, limit_us, steps)) {
        // Queries of smaller batches than the curve's need more than it says.
        if (split.batch_queries < least_share * curve.batch_queries) continue;
        if (of.split && of.split->queries_per_second >= split.queries_per_second) continue;
        of.split = split;
        of.curve_batch = curve.batch;
      }
    }
    return of;
  }

  CacheSubject& subject_;
  const CacheGrid& grid_;
  Progress& progress_;
  CacheModel model_;
  std::map<std::pair<std::size_t, bool>, std::uint64_t> results_;  ///< hashes, by k and whether asked one at a time
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

}  // namespace quern
