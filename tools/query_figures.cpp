#include "query_figures.hpp"

namespace quern::tools {

Json times_json(const LatencySummary& times) {
  return {{"mean_us", times.mean_us}, {"p50_us", times.p50_us},   {"p90_us", times.p90_us}, {"p95_us", times.p95_us},
          {"p99_us", times.p99_us},   {"p999_us", times.p999_us}, {"max_us", times.max_us}};
}

Json depths_json(const QueryStatistics& counts) {
  Json rows = Json::array();
  for (const ListDepth& depth : counts.depths) {
    if (depth.lists == 0) continue;
    rows.push_back({{"lists", depth.lists},
                    {"postings", depth.postings},
                    {"postings_read", depth.read},
                    {"mean_share_read", depth.mean_share()}});
  }
  return rows;
}

}  // namespace quern::tools
