#include "run_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/size_text.hpp"

#include "figures.hpp"
#include "gpu_options.hpp"
#include "gpu_rerank_options.hpp"

namespace quern::tools {
namespace {

Json shared_json(const SharedFigures& figures) {
  const auto counts = [](const SharedCounts& of) {
    return Json{{"queries", of.queries()},
                {"faster", of.faster},
                {"together", of.together},
                {"slower", of.slower},
                {"taken_over", of.taken_over}};
  };
  return {{"on_cpu", counts(figures.on_cpu)},
          {"on_gpu", counts(figures.on_gpu)},
          {"batches", figures.batches},
          {"missed_deadlines", figures.missed}};
}

}  // namespace

double RunStatistics::rate(double seconds) const { return static_cast<double>(queries()) / std::max(seconds, 1e-9); }

Json RunStatistics::json(const RunSettings& settings, const QueryEngine& engine, const gpu::GpuReranker* reranker,
                         double seconds) const {
  Json json = {{"queries", queries()},
               {"algorithm", settings.algorithm},
               {"k", settings.k},
               {"rerank", settings.rerank},
               {"scores", name_of_value(scores_names, engine.options().scores)},
               {"scorer", name_of_value(scorer_names, engine.options().scorer)},
               {"threads", settings.threads}};
  json.update(times_json(times_us_.summary()));
  json.update({{"queries_per_second", rate(seconds)},
               {"postings", counts_.postings},
               {"postings_scored", counts_.postings_scored},
               {"blocks", counts_.blocks},
               {"blocks_decoded", counts_.blocks_decoded},
               {"blocks_skipped", counts_.blocks - std::min(counts_.blocks, counts_.blocks_decoded)},
               {"early_termination", engine.ends_early()}});
  json["device"] = shared_ ? name_of_value(all_query_devices, QueryDevice::both) : device_name(gpu_.queries > 0);
  if (shared_) json["shared"] = shared_json(*shared_);
  if (gpu_.queries > 0) json["gpu"] = gpu_json(gpu_);
  if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
  if (reranker != nullptr) json["rerank_on_gpu"] = gpu_rerank_json(reranker->counts());
  return json;
}

std::vector<std::string> RunStatistics::lines(const QueryEngine& engine, unsigned threads, double seconds) const {
  const LatencySummary times = times_us_.summary();
  std::vector<std::string> lines{fmt::format(
      "{}, {:.0f} per second on {}; {:.1f} us per query on average, {:.1f} at the median, {:.1f} at the 99th "
      "percentile; {} of {} postings scored, {} of {} blocks decoded",
      count_text(queries(), "query", "queries"), rate(seconds), count_text(threads, "thread"), times.mean_us,
      times.p50_us, times.p99_us, counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks)};
  if (shared_)
    lines.push_back(
        fmt::format("{} on the CPU and {} on GPUs, of which {} and {} would take less time on the other if it were "
                    "idle; GPUs were predicted to answer {} sooner alone; {} after the deadline",
                    count_text(shared_->on_cpu.queries(), "query", "queries"), shared_->on_gpu.queries(),
                    shared_->on_cpu.slower + shared_->on_cpu.taken_over, shared_->on_gpu.slower,
                    shared_->on_gpu.together, shared_->missed));
  if (engine.ends_early())
    lines.push_back(fmt::format("{} ended early after reading {:.1f} % of their shortest lists",
                                count_text(counts_.stopped_early, "query", "queries"),
                                100 * counts_.depths.front().mean_share()));
  return lines;
}

}  // namespace quern::tools
