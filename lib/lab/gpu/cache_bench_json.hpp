#pragma once
#include <nlohmann/json.hpp>

#include "quern/lab/gpu/cache_bench.hpp"

namespace quern {

/// The figures as `quern bench gpu-cache --json` prints them and scripts/plot reads them. Times are microseconds per
/// query, rates queries per second.
nlohmann::ordered_json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid);

}  // namespace quern
