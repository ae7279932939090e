#pragma once
#include <chrono>
#include <span>
#include <string_view>

#include "quern/gpu/engine/gpu_engine.hpp"
#include "quern/query/query_statistics.hpp"

namespace quern {

/// How queries come, and how they are gathered.
struct StreamOptions {
  double queries_per_second = 10000;     ///< on average: a Poisson stream
  std::size_t max_queries = 1024;        ///< of a batch
  std::chrono::microseconds wait{1000};  ///< that the first query of a batch waits at most
  double seconds = 2;                    ///< that the stream lasts
  std::uint64_t seed = 1;
};

struct StreamFigures {
  std::uint64_t queries = 0, batches = 0;
  double queries_per_second = 0;  ///< answered, from the first that came to the last answer
  LatencySummary response_us;  ///< from the time at which a query was to come to that at which its batch was answered
};

/// Sends a Poisson stream of the queries, over and over, through a BatchCollector to GPUs. A stream that is faster than
/// they are makes response times that grow with its length. Throws as GpuEngine::search() does.
StreamFigures measure_stream(GpuEngine& gpu, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                             std::size_t k, const StreamOptions& options);

}  // namespace quern
