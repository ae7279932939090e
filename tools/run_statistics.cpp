#include "run_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_figures.hpp"
#include "query_figures.hpp"

namespace quern::tools {

double RunStatistics::rate(double seconds) const {
  return static_cast<double>(times_us_.size()) / std::max(seconds, 1e-9);
}

Json RunStatistics::json(const QueryEngine& engine, double seconds) const {
  Json json = times_json(summarize(times_us_));
  json.update({{"queries_per_second", rate(seconds)},
               {"postings", counts_.postings},
               {"postings_scored", counts_.postings_scored},
               {"blocks", counts_.blocks},
               {"blocks_decoded", counts_.blocks_decoded},
               {"blocks_skipped", counts_.blocks - std::min(counts_.blocks, counts_.blocks_decoded)},
               {"early_termination", engine.ends_early()}});
  json["device"] = gpu_.queries > 0 ? "gpu" : "cpu";
  if (gpu_.queries > 0) json["gpu"] = gpu_json(gpu_);
  if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
  return json;
}

std::vector<std::string> RunStatistics::lines(const QueryEngine& engine, unsigned threads, double seconds) const {
  const LatencySummary times = summarize(times_us_);
  std::vector<std::string> lines{fmt::format(
      "{} queries, {:.0f} a second on {} threads; a query takes {:.1f} us on average, {:.1f} at the median, {:.1f} at "
      "the 99th percentile; {} of {} postings scored, {} of {} blocks decoded",
      times_us_.size(), rate(seconds), threads, times.mean_us, times.p50_us, times.p99_us, counts_.postings_scored,
      counts_.postings, counts_.blocks_decoded, counts_.blocks)};
  if (engine.ends_early())
    lines.push_back(fmt::format("{} queries ended early; of their shortest lists they read {:.1f} %",
                                counts_.stopped_early, 100 * counts_.depths.front().mean_share()));
  return lines;
}

}  // namespace quern::tools
