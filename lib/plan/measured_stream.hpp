#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/formats/tables/query_times.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_simulation.hpp"

namespace quern {

/// Selects rows of files of query times.
struct StreamChoice {
  std::string algorithm, strategy;  ///< strategy: for GPUs
  std::uint64_t k = 10;
};

/// The queries of a log with measured and predicted times.
struct MeasuredStream {
  std::vector<SimulatedQuery> queries;    ///< in the log's order, without arrival times
  bool has_cpu = false, has_gpu = false;  ///< whether that device has times; 0 otherwise
  BatchOverhead gpu_overhead;             ///< time a batch keeps the GPU busy beyond its queries' times
  BatchOverhead gpu_latency;              ///< further time until a batch is answered
  /// The overhead of a small batch, for predictions.
  double expected_batch_us() const { return gpu_overhead.us(1) + gpu_latency.us(1); }
};

/// Combines the times of a CPU and a GPU. A batch keeps the GPU busy for the time that the rate of consecutive batches
/// of its size implies, or for its whole time if the files have no such rate. A query adds its share of this time in
/// the largest batches measured. If queries were measured only alone, the overhead of a batch is the least time of one.
/// Predictions come from `costs`, or are the times themselves if it is null. Throws InvalidArgument if the files differ
/// in index, scoring or machine, have no such times, or lack some queries on one device.
MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs);

}  // namespace quern
