#pragma once
#include <chrono>
#include <span>
#include <string_view>

#include "quern/gpu/engine/gpu_engine.hpp"
#include "quern/query/query_statistics.hpp"

namespace quern {

/// How queries arrive, and how they are collected into batches.
struct StreamOptions {
  double queries_per_second = 10000;     ///< on average: a Poisson stream
  std::size_t max_queries = 1024;        ///< per batch
  std::chrono::microseconds wait{1000};  ///< maximum waiting time of a batch's first query
  double seconds = 2;                    ///< length of the stream, at most 10,000
  std::uint64_t seed = 1;
};

struct StreamFigures {
  std::uint64_t queries = 0, batches = 0;
  double queries_per_second = 0;  ///< answered, from the first arrival to the last answer
  LatencySummary response_us;     ///< from a query's arrival in the stream to the answer of its batch
};

/// Throws InvalidArgument if a number is out of its range or none.
void check_stream_options(const StreamOptions& options);

/// Sends a Poisson stream of the queries, repeated as needed, through a BatchCollector to GPUs. If the stream is faster
/// than the GPUs, response times grow with its length. Throws as GpuEngine::search() does, and
/// InvalidArgument without queries or for an option out of its range.
StreamFigures measure_stream(GpuEngine& gpu, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                             std::size_t k, const StreamOptions& options);

}  // namespace quern
