#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "quern/core/wall_clock.hpp"
#include "quern/plan/schedule_policy.hpp"

/// Runs a stream of queries on a CPU and GPUs at the same time, by any schedule.
namespace quern {

/// Answers queries on its own thread: a CPU thread, or one that drives a GPU.
struct DispatchWorker {
  Processor processor = Processor::cpu;
  std::size_t max_queries = 1;  ///< maximum queries taken at once, equal for all of a kind
  /// Answers queries: on a GPU all taken together, on the CPU one at a time. If it throws, none of them counts as
  /// answered: other workers answer them, and it is not called again.
  std::function<void(std::span<const WaitingQuery> queries)> answer;
};

/// `max_queries` for CPU workers.
inline constexpr std::size_t max_for_thread = 16;

struct DispatchFigures {
  std::uint64_t on_cpu = 0, on_gpu = 0;  ///< queries
  std::uint64_t batches = 0;             ///< on GPUs
  std::vector<std::string> failures;     ///< errors of the workers that failed
};

class QueryDispatcher {
 public:
  /// Starts the workers, at least one. At most `max_waiting` queries wait, at least 1.
  QueryDispatcher(std::unique_ptr<ScheduleQueues> schedule, std::vector<DispatchWorker> workers,
                  std::size_t max_waiting);
  /// Waits for running workers; drops waiting queries unless finish() was called.
  ~QueryDispatcher();
  QueryDispatcher(const QueryDispatcher&) = delete;
  QueryDispatcher& operator=(const QueryDispatcher&) = delete;

  /// Adds queries that arrive now; their numbers must be new. Blocks while too many wait. If all workers have failed,
  /// rethrows the last error. For one thread.
  void submit(std::span<const WaitingQuery> queries);
  void submit(const WaitingQuery& query) { submit(std::span(&query, 1)); }
  /// Waits until all queries are answered, and returns the figures. No query may be submitted afterwards. Rethrows the
  /// last error if all workers have failed, and throws InvalidArgument if the schedule assigns the remaining queries to
  /// no worker.
  DispatchFigures finish();
  /// Microseconds since construction, the clock of arrivals.
  double now_us() const { return us_since(begun_); }

 private:
  enum class PlaceState : std::uint32_t { waits, sleeps, called };
  /// A worker's waiting place.
  struct Place {
    std::atomic<PlaceState> state = PlaceState::waits;
  };
  /// Workers of a kind.
  struct Side {
    unsigned workers = 0;      ///< without failed ones
    std::vector<Place*> idle;  ///< in the order in which they became idle
  };
  /// Collects sleepers and wakes them once the mutex is free.
  class Calls {
   public:
    ~Calls();
    void add(Place& place) { places_.push_back(&place); }

   private:
    std::vector<Place*> places_;
  };

  Side& side(Processor processor) { return processor == Processor::cpu ? cpu_ : gpu_; }
  std::unique_lock<std::mutex> lock();
  /// Calls one idle worker of the side, if any.
  static void call_one(Side& side, Calls& calls);
  void call_all(Calls& calls);
  /// Calls an idle worker of a kind, if there may be work for it.
  void call_for_work(Processor processor, Calls& calls);
  /// Adds a batch of queries.
  void enter(std::span<const WaitingQuery> queries);
  /// Whether nothing runs and nothing will start until a query arrives.
  bool is_at_rest() const;
  void work(const DispatchWorker& worker, Place& place);
  /// The next queries for a worker; empty if it should wait. Sets `meant_for` to the kind that the schedule assigned
  /// them to.
  std::vector<WaitingQuery> take(const DispatchWorker& worker, Processor& meant_for);
  /// Waits to be called: spins for a while, then sleeps.
  static void wait_for_call(Place& place);
  void count(const DispatchWorker& worker, std::size_t queries);
  /// Removes a worker that threw `failure_`, and requeues its queries.
  void leave_out(const DispatchWorker& worker, std::span<const WaitingQuery> queries, Calls& calls);

  const WallClock::time_point begun_ = WallClock::now();
  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable room_, ended_;
  std::unique_ptr<ScheduleQueues> schedule_;
  Side cpu_, gpu_;
  unsigned running_ = 0;  ///< workers with queries in progress
  bool submitter_waits_ = false, finishing_ = false, dropping_ = false;
  std::exception_ptr failure_;  ///< of the last worker that failed
  DispatchFigures figures_;
  std::vector<Place> places_;  ///< by worker
  std::vector<std::thread> threads_;
};

/// The number of waiting queries that a processor of a kind takes at once. Taking excludes other threads, so a CPU
/// thread takes several from a long queue, but leaves as many for each of the others: none must idle while queries wait
/// behind a long one.
inline std::size_t queries_at_once(Processor processor, std::size_t waiting, std::size_t max_queries,
                                   unsigned cpu_threads) {
  if (processor == Processor::gpu) return max_queries;
  const std::size_t share = waiting / (2 * std::max<std::size_t>(cpu_threads, 1));
  return std::clamp<std::size_t>(share, 1, std::max<std::size_t>(max_queries, 1));
}

}  // namespace quern
