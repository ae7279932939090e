#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/formats/tables/query_times.hpp"
#include "quern/schedule/cost_model.hpp"
#include "quern/schedule/schedule_simulation.hpp"

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
  double gpu_batch_us = 0;                ///< from a batch's beginning until the GPU can work on its queries
  BatchOverhead gpu_overhead;             ///< of its work on the queries of a batch
  /// What a small batch takes besides what its queries add, for predictions.
  double expected_batch_us() const { return gpu_batch_us + gpu_overhead.us(1); }
};

/// Puts the times of a CPU and a GPU together. What a query adds to a batch is its time in the largest batches that
/// were measured. What smaller ones take besides keeps the GPU busy; what a query alone takes besides passes before
/// that. Without larger batches, a batch takes the least time alone besides. Predictions are those of `costs`, or, if
/// it is null, the times themselves. Throws InvalidArgument if the files are of different indexes, scorings or
/// machines, have no such times, or lack some queries on one device.
MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs);

}  // namespace quern
