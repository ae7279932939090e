#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/tables/query_times.hpp"

/// How a CPU and GPUs share the queries of a stream.
namespace quern {

/// A query that waits for a processor. Times are in microseconds.
struct WaitingQuery {
  std::uint64_t number = 0;         ///< in the order of arrival; of no other query
  double arrival_us = 0;            ///< since the stream began
  double deadline_us = 0;           ///< after its arrival; 0: it has none
  double expected_cpu_us = 0;       ///< on one thread
  double expected_gpu_us = 0;       ///< that it adds to a GPU's batch
  std::uint64_t blocks = 0;         ///< of its lists
  std::uint64_t missing_bytes = 0;  ///< of its lists, that GPUs lack

  double expected_us(Processor processor) const {
    return processor == Processor::cpu ? expected_cpu_us : expected_gpu_us;
  }
};

struct ScheduleOptions {
  unsigned cpu_threads = 1, gpus = 1;
  /// That each GPU is given at a time: one is made, one runs, one has its answers taken.
  unsigned gpu_batches = 3;
  double gpu_batch_us = 0;           ///< expected, what a small batch takes besides what its queries add
  std::uint64_t max_blocks = 30000;  ///< of the queries that `lbd` gives to GPUs
  double gpu_share = 0.5;            ///< of the expected costs, for `share`
  std::uint64_t seed = 1;            ///< for `sd`
};

/// The queries that wait, and who takes which. Not thread-safe.
class ScheduleQueues {
 public:
  ScheduleQueues() = default;
  ScheduleQueues(const ScheduleQueues&) = delete;
  ScheduleQueues& operator=(const ScheduleQueues&) = delete;
  virtual ~ScheduleQueues() = default;

  /// A query has arrived.
  virtual void add(const WaitingQuery& query) = 0;
  /// What an idle thread of the CPU, or a GPU that may be given a batch, is to work on next: at most `most` queries, at
  /// least 1 unless it is to stay idle until another query arrives or another processor becomes idle. A thread of the
  /// CPU answers them one by one; it gets several only where many wait, and as many are left for each of the others.
  virtual std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t most) = 0;
  /// Whether an idle processor of this kind may find something to take; it costs time to look in vain.
  virtual bool offers(Processor, double /*now_us*/) const { return size() > 0; }
  /// A thread of the CPU, or a GPU, has ended what was taken at a time.
  virtual void ended(Processor, double /*now_us*/) {}
  /// Queries that wait.
  virtual std::size_t size() const = 0;
};

struct SchedulePolicy {
  std::string_view name;
  std::unique_ptr<ScheduleQueues> (*make)(const ScheduleOptions& options);
  std::string_view description;
};

std::span<const SchedulePolicy> all_schedule_policies();
/// Throws InvalidArgument if there is none.
const SchedulePolicy& schedule_policy_named(std::string_view name);

/// Those of the registry, each in a source of its own.
std::unique_ptr<ScheduleQueues> make_cpu_queue(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_gpu_queue(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_block_threshold_queues(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_random_queues(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_one_at_a_time_queue(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_stealing_queues(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_cost_share_queue(const ScheduleOptions& options);
std::unique_ptr<ScheduleQueues> make_first_to_end_queues(const ScheduleOptions& options);

}  // namespace quern
