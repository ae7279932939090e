#pragma once
#include <algorithm>
#include <cmath>
#include <functional>

#include "quern/lab/gpu/cache_bench.hpp"

namespace quern::testing {

/// A machine with known costs, in microseconds. Per query: 0.5 for finding lists, 1 + 50 / n for preparing a batch of
/// n, and 3 + 200 / n of GPU work. Per byte: 1e-5 + 20 / S for copying S bytes, half of which occupies the host. A
/// query needs 8,000,000 bytes; in a batch of n, all but 1 / sqrt(n) of them are shared, and a memory of P % holds P %
/// of them. Batches by windows have 5 for the whole memory, with 40 sqrt(n) lists in each.
class FakeCacheSubject : public CacheSubject {
 public:
  explicit FakeCacheSubject(StageOverlap overlap) : overlap_(overlap) {}

  static constexpr double list_bytes = 1e9;
  double slower = 1;                  ///< factor for predicted runs
  std::uint64_t hash = 0;             ///< of results in such runs, instead of the correct one
  std::uint64_t resident_copies = 0;  ///< bytes copied although all lists are resident
  std::size_t runs = 0;
  bool by_windows = false;
  std::function<bool(const CacheSetting&)> too_small = [](const CacheSetting&) { return false; };
  double waiting = 1;   ///< factor of the GPU's times with all lists resident, which include waits of batches
  double unhidden = 0;  ///< share of the shorter of copies and GPU work that stays visible, if stages overlap
  WindowCosts copying{2e-5, 2e-3, 7}, kernels{1e-5, 3e-3, 90};  ///< costs of windows; kernels come on top

  static StageTimes stages(double n, double bytes) {
    StageTimes stages;
    stages.alone = 0.5;
    stages.host = 1 + 50 / n;
    stages.gpu = 3 + 200 / n;
    stages.query = stages.alone + stages.host + stages.gpu;
    if (bytes > 0) stages.transfer = us_per_byte(n * bytes) * bytes;
    stages.gather = stages.transfer / 2;
    return stages;
  }

  StageTimes stages_of(const CopyDemand& demand) const {
    if (demand.windowed == 0) return stages(demand.batch_queries, demand.copied_bytes);
    StageTimes times = stages(demand.batch_queries, 0);
    const double more = kernels.us({demand.needed_bytes, demand.window_lists, demand.windows});
    times.gpu += more;
    times.query += more;
    times.transfer = copying.us({demand.copied_bytes, demand.window_lists, demand.windows});
    return times;
  }

  EngineRun run(const CacheSetting& setting) override {
    ++runs;
    const CopyDemand demanded = demand(setting);
    const bool resident = setting.memory == whole_memory;
    const double bytes = resident ? 0 : demanded.copied_bytes;
    StageTimes times = resident ? stages(demanded.batch_queries, 0) : stages_of(demanded);
    if (setting.batch > 1) times.unhidden = unhidden;  // nothing overlaps with a single query
    EngineRun run;
    run.queries = setting.batch == 1 ? 100 : queries;
    const auto count = static_cast<double>(run.queries);
    const double batches = setting.batch == 1 ? 1 : count / demanded.batch_queries;
    const double us =
        overlap_ == StageOverlap::full ? times.overlapped_us(batches, demanded.windows_per_batch) : times.in_turn_us();
    run.seconds = 1e-6 * count * us * (resident || calibrates(setting) ? 1 : slower);
    run.results_hash = resident || hash == 0 ? setting.k : hash;
    GpuStatistics& statistics = run.statistics;
    statistics.queries = run.queries;
    statistics.batches = static_cast<std::uint64_t>(std::lround(count / demanded.batch_queries));
    statistics.prepare_us = count * (times.alone + times.host + times.gather);
    statistics.device.unite_us = count * times.gpu * (resident ? waiting : 1);
    statistics.copy_lists_us = count * times.transfer;
    statistics.lists.lists = 10;
    statistics.lists.resident_lists = resident ? 10 : 6;
    statistics.lists.bytes = static_cast<std::uint64_t>(count * demanded.needed_bytes);
    statistics.lists.copied_bytes = resident ? resident_copies : static_cast<std::uint64_t>(count * bytes);
    return run;
  }
  CopyDemand demand(const CacheSetting& setting) override {
    if (too_small(setting)) throw GpuOutOfMemory("too small");
    CopyDemand demand;
    demand.batch_queries = setting.batch == 1 ? 1 : static_cast<double>(queries) / std::ceil(batches(setting.batch));
    const double share = setting.memory == whole_memory ? 1 : std::stod(setting.memory) / 100;
    demand.whole_index = share >= 1;
    demand.list_bytes = static_cast<std::uint64_t>(share * list_bytes);
    demand.cache_bytes = demand.whole_index ? demand.list_bytes : demand.list_bytes / 4 * 3;
    demand.needed_bytes = 8e6 / std::sqrt(demand.batch_queries);
    const double policy = setting.policy == no_policy ? 1.3 : 1;
    demand.copied_bytes = demand.needed_bytes * (1 - share) * policy * setting.max_admission;
    demand.list_hits = share;
    if (!by_windows || demand.whole_index || setting.batch == 1) return demand;
    demand.windowed = 1;
    demand.windows_per_batch = std::ceil(5 / share);
    demand.windows = demand.windows_per_batch / demand.batch_queries;
    demand.window_lists = demand.windows * 40 * std::sqrt(demand.batch_queries);
    return demand;
  }
  double find_us() override { return 0.5; }
  TransferTime copy_lists(std::uint64_t bytes, bool windows) override {
    const std::uint64_t most = std::min<std::uint64_t>(bytes, most_copied);
    const double us = us_per_byte(static_cast<double>(most)) * static_cast<double>(most);
    // The model should choose the one that matches the way of copying.
    return {most, us, windows ? 0 : us / 2};
  }
  TransferTime copy_pinned(std::uint64_t bytes) override { return {bytes, 5e-6 * static_cast<double>(bytes), 1}; }

 private:
  static bool calibrates(const CacheSetting& setting) {
    const std::vector<std::string> memories = CacheGrid().calibrating;
    return std::find(memories.begin(), memories.end(), setting.memory) != memories.end();
  }
  static constexpr std::uint64_t queries = 40000, most_copied = 50000000;
  static double us_per_byte(double bytes) { return 1e-5 + 20 / bytes; }
  static double batches(std::size_t batch) { return static_cast<double>(queries) / static_cast<double>(batch); }

  StageOverlap overlap_;
};

}  // namespace quern::testing
