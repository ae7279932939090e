#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/formats/tables/query_times.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_simulation.hpp"

namespace quern {

/// Which times of files are meant.
struct StreamChoice {
  std::string algorithm, strategy;  ///< the latter of GPUs
  std::uint64_t k = 10;
};

/// The queries of a log with their measured times, and what is predicted for them.
struct MeasuredStream {
  std::vector<SimulatedQuery> queries;    ///< in the log's order; none has arrived yet
  bool has_cpu = false, has_gpu = false;  ///< whether there are times of one: else they are 0
  BatchOverhead gpu_overhead;             ///< what keeps the GPU busy besides what a batch's queries add
  BatchOverhead gpu_latency;              ///< what passes besides until a batch is answered
  /// What a small batch takes besides what its queries add, for predictions.
  double expected_batch_us() const { return gpu_overhead.us(1) + gpu_latency.us(1); }
};

/// Puts the times of a CPU and a GPU together. A GPU is busy with a batch for as long as its rate says where batches of
/// this size follow each other, or for all of the batch's time if the files have no such rate. What a query adds is its
/// share of this time in the largest batches that were measured. If queries were measured only alone, a batch takes the
/// least time of one besides. Predictions are those of `costs`, or, if it is null, the times themselves. Throws
/// InvalidArgument if the files are of different indexes, scorings or machines, have no such times, or lack some
/// queries on one device.
MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs);

}  // namespace quern
