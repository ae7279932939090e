#pragma once
#include "quern/formats/tables/query_times.hpp"

/// How a CPU and GPUs share the queries of a stream.
namespace quern {

/// A query that waits for a processor. Times in microseconds.
struct WaitingQuery {
  std::uint64_t number = 0;         ///< unique, in the order of arrival
  double arrival_us = 0;            ///< since the stream began
  double deadline_us = 0;           ///< after arrival; 0: none
  double expected_cpu_us = 0;       ///< on one CPU thread
  double expected_gpu_us = 0;       ///< added to a GPU's batch
  std::uint64_t blocks = 0;         ///< of its lists
  std::uint64_t missing_bytes = 0;  ///< of its lists that GPUs lack

  double expected_us(Processor processor) const {
    return processor == Processor::cpu ? expected_cpu_us : expected_gpu_us;
  }
};

struct ScheduleOptions {
  unsigned cpu_threads = 1, gpus = 1;
  /// Batches per GPU: one is prepared, one runs, and the answers of one are collected.
  unsigned gpu_batches = 3;
  double gpu_batch_us = 0;           ///< expected overhead of a small batch
  std::uint64_t max_blocks = 30000;  ///< per query that `lbd` assigns to GPUs
  double gpu_share = 0.5;            ///< the GPUs' share of expected costs, for `share`
  std::uint64_t seed = 1;            ///< for `sd`
};

/// The waiting queries, and their assignment to processors. Not thread-safe.
class ScheduleQueues {
 public:
  ScheduleQueues() = default;
  ScheduleQueues(const ScheduleQueues&) = delete;
  ScheduleQueues& operator=(const ScheduleQueues&) = delete;
  virtual ~ScheduleQueues() = default;

  /// Adds a query that has arrived.
  virtual void add(const WaitingQuery& query) = 0;
  /// Takes the next queries for an idle CPU thread, or for a GPU that has room for a batch: 1 to `max_queries`, or none
  /// if it should wait until a query arrives or another processor becomes idle. A CPU thread answers them one by one;
  /// it gets several only if as many are left for each of the others.
  virtual std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t max_queries) = 0;
  /// Whether take() may return queries to an idle processor of this kind: waking one in vain costs time.
  virtual bool offers(Processor, double /*now_us*/) const { return size() > 0; }
  /// A CPU thread or GPU has finished the queries of one take().
  virtual void ended(Processor, double /*now_us*/) {}
  /// The number of waiting queries.
  virtual std::size_t size() const = 0;
};

struct SchedulePolicy {
  std::string_view name;
  std::unique_ptr<ScheduleQueues> (*make)(const ScheduleOptions& options);
  std::string_view description;
};

std::span<const SchedulePolicy> all_schedule_policies();
/// Throws InvalidArgument, listing all names, if the name is unknown.
const SchedulePolicy& schedule_policy_named(std::string_view name);

}  // namespace quern
