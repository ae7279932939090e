#pragma once
#include "quern/query/query_statistics.hpp"

#include "command.hpp"

/// Figures of queries, as several commands print them.
namespace quern::tools {

/// mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us.
Json times_json(const LatencySummary& times);
/// How far lists were read, from the queries' shortest lists to their eighth and the longer ones: a row each.
Json depths_json(const QueryStatistics& counts);

}  // namespace quern::tools
