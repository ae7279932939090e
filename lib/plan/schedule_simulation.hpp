#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/plan/query_features.hpp"
#include "quern/plan/schedule_policy.hpp"
#include "quern/search/query_statistics.hpp"

/// A stream of queries on a CPU and GPUs, with a virtual clock: decisions by predictions, durations as measured.
namespace quern {

/// A query of a simulated stream. Times are in microseconds.
struct SimulatedQuery {
  WaitingQuery waiting;
  double cpu_us = 0;  ///< that it takes on a thread of the CPU
  double gpu_us = 0;  ///< that it adds to a GPU's batch
};

struct SimulatedMachine {
  unsigned cpu_threads = 1, gpus = 1;
  std::size_t max_batch = 1;   ///< queries
  unsigned gpu_batches = 1;    ///< that each GPU is given at a time; it works on the queries of one after the other
  BatchOverhead gpu_overhead;  ///< of its work on a batch, which keeps it busy
  BatchOverhead gpu_latency;   ///< what passes besides until the batch is answered, while it may work on others
  double hand_over_us = 0;     ///< from a query's arrival until an idle processor begins with it
};

struct ScheduleFigures {
  std::uint64_t queries = 0, on_cpu = 0, on_gpu = 0;
  std::uint64_t batches = 0;                      ///< of GPUs
  std::uint64_t missed = 0;                       ///< that were not answered within their deadline
  LatencySummary response;                        ///< from arrival to answer
  double seconds = 0;                             ///< from the stream's beginning to the last answer
  double cpu_busy_share = 0, gpu_busy_share = 0;  ///< of these, of all threads and of all GPUs
};

/// Runs the stream. A processor works on what it took to its end; a GPU takes a batch of what waits whenever it has
/// fewer than it may be given at a time. Queries must be in the order of their arrivals. Throws InvalidArgument if they
/// are not, a time is negative or not finite, or the schedule gives queries to processors that the machine lacks.
ScheduleFigures simulate_schedule(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine,
                                  ScheduleQueues& schedule);

/// Times of so many arrivals, in microseconds: a Poisson process of `rate` queries per second, which is above 0.
std::vector<double> poisson_arrivals(std::size_t count, double rate, std::uint64_t seed);

/// The highest rate, to 1 %, up to which the share of missed deadlines is at most `allowed`; 0 if it is more at the
/// lowest rate, and the highest where it never is. `missed_share(rate)` is called about 30 times; it should not fall
/// with the rate, or which of several such rates is found is not known. 0 < lowest <= highest.
double highest_rate(const std::function<double(double rate)>& missed_share, double allowed, double lowest,
                    double highest);

}  // namespace quern
