#pragma once
#include "quern/formats/tables/query_times.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_policy.hpp"
#include "quern/search/query_statistics.hpp"

/// Simulates a stream of queries on a CPU and GPUs with a virtual clock: decisions by predictions, durations as
/// measured.
namespace quern {

/// A query of a simulated stream. Times in microseconds.
struct SimulatedQuery {
  WaitingQuery waiting;
  double cpu_us = 0;  ///< on a CPU thread
  double gpu_us = 0;  ///< added to a GPU's batch
};

struct SimulatedMachine {
  unsigned cpu_threads = 1, gpus = 1;
  std::size_t max_batch = 1;   ///< queries per batch
  unsigned gpu_batches = 1;    ///< in progress per GPU; it works on one after the other
  BatchOverhead gpu_overhead;  ///< of a batch; keeps the GPU busy
  BatchOverhead gpu_latency;   ///< further time until a batch is answered; the GPU may work on others
  double hand_over_us = 0;     ///< from a query's arrival until an idle processor starts on it
};

struct ScheduleFigures {
  std::uint64_t queries = 0, on_cpu = 0, on_gpu = 0;
  std::uint64_t batches = 0;                      ///< on GPUs
  std::uint64_t missed = 0;                       ///< queries answered after their deadline
  LatencySummary response;                        ///< from arrival to answer
  double seconds = 0;                             ///< from the stream's start to the last answer
  double cpu_busy_share = 0, gpu_busy_share = 0;  ///< shares of `seconds`, over all threads and all GPUs
};

/// Simulates the stream. Processors are not preempted; a GPU takes another batch whenever it has fewer than
/// gpu_batches. Throws InvalidArgument if queries are not in the order of arrival, a time is negative or not finite, or
/// the schedule assigns queries to processors that the machine lacks.
ScheduleFigures simulate_schedule(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine,
                                  ScheduleQueues& schedule);

/// `count` arrival times, in microseconds: a Poisson process of `rate` queries per second, above 0.
std::vector<double> poisson_arrivals(std::size_t count, double rate, std::uint64_t seed);

/// The highest rate, to 1 %, at which the share of missed deadlines is at most `allowed`; 0 if it is higher even at
/// `lowest`, and `highest` if it never is. Calls `missed_share(rate)` about 30 times; it should not decrease with the
/// rate. 0 < lowest <= highest.
double highest_rate(const std::function<double(double rate)>& missed_share, double allowed, double lowest,
                    double highest);

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
