#include "quern/lab/gpu/cache_bench_json.hpp"

#include <algorithm>

namespace quern {
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

Json resident_json(const ResidentTimes& of) {
  Json json = setting_json(of.setting);
  json["batch_queries"] = of.batch_queries;
  json.update(times_json(of.times));
  json["c_us"] = of.query_us;
  json["c_host_us"] = of.host_us;
  json["c_gpu_us"] = of.gpu_us;
  json["c_alone_us"] = of.alone_us;
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

Json split_json(const CacheSplit& of) {
  Json json = {{"memory", of.memory},
               {"policy", of.policy},
               {"limit_ms", nullptr},
               {"model", of.overlap == StageOverlap::full ? "overlap" : "in turn"},
               {"queries_per_second", nullptr}};
  if (of.limit_ms > 0) json["limit_ms"] = of.limit_ms;
  if (!of.split) return json;
  json["queries_per_second"] = of.split->queries_per_second;
  json["cache_bytes"] = of.split->cache_bytes;
  json["buffer_bytes"] = of.split->buffer_bytes;
  json["batch_queries"] = of.split->batch_queries;
  json["response_us"] = of.split->response_us;
  json["curve_batch"] = of.curve_batch;
  return json;
}

}  // namespace

Json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid) {
  Json json = {{"base", setting_json(grid.base)}, {"memories", grid.memories}};
  for (const ResidentTimes& of : figures.resident) json["resident"].push_back(resident_json(of));
  json["copied_lists"] = copies_json(figures.copied_lists);
  json["copied_windows"] = copies_json(figures.copied_windows);
  json["pinned_copies"] = copies_json(figures.pinned_copies);
  for (const CalibratingRun& run : figures.calibrating_runs)
    json["calibrating_runs"].push_back(calibrating_run_json(run));
  json["window_copies"] = window_costs_json(figures.window_copies);
  json["window_kernels"] = window_costs_json(figures.window_kernels);
  for (const PolicyPoints& curve : figures.curves) json["curves"].push_back(curve_json(curve));
  for (const CachePoint& point : figures.points) json["points"].push_back(point_json(point));
  for (const CacheSplit& of : figures.splits) json["splits"].push_back(split_json(of));
  return json;
}

}  // namespace quern
