#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "quern/core/wall_clock.hpp"
#include "quern/plan/schedule_policy.hpp"

/// Queries of a stream, on a CPU and GPUs that work at the same time, by any schedule.
namespace quern {

/// What answers queries in a thread of its own: a thread of the CPU, or one that works with a GPU.
struct DispatchWorker {
  Processor processor = Processor::cpu;
  std::size_t most = 1;  ///< queries that it takes at once, the same for all of a kind
  /// Answers queries: a GPU all that it has taken, a thread of the CPU one. If it throws, none of them is answered:
  /// others answer them, and it is not called again.
  std::function<void(std::span<const WaitingQuery> queries)> answer;
};

/// Of the CPU's workers, for `most`.
inline constexpr std::size_t most_for_thread = 16;

struct DispatchFigures {
  std::uint64_t on_cpu = 0, on_gpu = 0;  ///< queries
  std::uint64_t batches = 0;             ///< of GPUs
  std::vector<std::string> failures;     ///< what workers that failed have thrown
};

class QueryDispatcher {
 public:
  /// Starts the workers, of which there is at least one. At most `max_waiting` queries wait, at least 1.
  QueryDispatcher(std::unique_ptr<ScheduleQueues> schedule, std::vector<DispatchWorker> workers,
                  std::size_t max_waiting);
  /// Waits for what workers have begun; queries that wait are dropped unless finish() was called.
  ~QueryDispatcher();
  QueryDispatcher(const QueryDispatcher&) = delete;
  QueryDispatcher& operator=(const QueryDispatcher&) = delete;

  /// Queries arrive now; their numbers must be ones that no other query has had. Waits while too many wait. If all
  /// workers have failed, rethrows what the last one threw. For one thread.
  void submit(std::span<const WaitingQuery> queries);
  void submit(const WaitingQuery& query) { submit(std::span(&query, 1)); }
  /// Waits until all queries are answered, and returns what was done. No query may be submitted afterwards. If the last
  /// worker failed, rethrows what it threw; if queries are left that the schedule gives to no worker, throws
  /// InvalidArgument.
  DispatchFigures finish();
  /// Microseconds since the beginning, the clock of arrivals.
  double now_us() const { return us_since(begun_); }

 private:
  enum class PlaceState : std::uint32_t { waits, sleeps, called };
  /// Where a worker waits for work.
  struct Place {
    std::atomic<PlaceState> state = PlaceState::waits;
  };
  /// Workers of a kind.
  struct Side {
    unsigned workers = 0;      ///< that have not failed
    std::vector<Place*> idle;  ///< that have found nothing, the last one last
  };
  /// Sleepers who are to be woken once the mutex is free.
  class Calls {
   public:
    ~Calls();
    void add(Place& place) { places_.push_back(&place); }

   private:
    std::vector<Place*> places_;
  };

  Side& side(Processor processor) { return processor == Processor::cpu ? cpu_ : gpu_; }
  std::unique_lock<std::mutex> lock();
  /// Calls one idle worker of the side, if there is any.
  static void call_one(Side& side, Calls& calls);
  void call_all(Calls& calls);
  /// Calls an idle worker of a kind, if there may be work for it.
  void call_for_work(Processor processor, Calls& calls);
  /// Lets a few queries in.
  void enter(std::span<const WaitingQuery> queries);
  /// Whether nothing runs, and nobody will begin anything unless a query arrives.
  bool is_at_rest() const;
  void work(const DispatchWorker& worker, Place& place);
  /// The next queries of a worker, whose kind is set to that which they were meant for; none if it is to wait.
  std::vector<WaitingQuery> take(const DispatchWorker& worker, Processor& meant_for);
  /// Waits to be called: a while by looking again and again, then asleep.
  static void wait_for_call(Place& place);
  void count(const DispatchWorker& worker, std::size_t queries);
  /// The worker threw `failure_`: others are to answer these queries.
  void leave_out(const DispatchWorker& worker, std::span<const WaitingQuery> queries, Calls& calls);

  const WallClock::time_point begun_ = WallClock::now();
  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable room_, ended_;
  std::unique_ptr<ScheduleQueues> schedule_;
  Side cpu_, gpu_;
  unsigned running_ = 0;  ///< workers that are answering queries
  bool submitter_waits_ = false, finishing_ = false, dropping_ = false;
  std::exception_ptr failure_;  ///< of the worker that failed last
  DispatchFigures figures_;
  std::vector<Place> places_;  ///< of the workers
  std::vector<std::thread> threads_;
};

/// How many queries a processor takes of those that wait for its kind. While a thread of the CPU
/// takes one, no other thread can, so that of many it takes several; it leaves as many for each of the others, so
/// that none is idle while queries wait behind a long one.
inline std::size_t queries_at_once(Processor processor, std::size_t waiting, std::size_t most, unsigned cpu_threads) {
  if (processor == Processor::gpu) return most;
  const std::size_t share = waiting / (2 * std::max<std::size_t>(cpu_threads, 1));
  return std::clamp<std::size_t>(share, 1, std::max<std::size_t>(most, 1));
}

}  // namespace quern
