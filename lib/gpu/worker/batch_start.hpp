#pragma once
#include <future>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {

/// Measures a host thread's work without its waits. For one thread.
class WorkClock {
 public:
  void start() {
    begun_ = WallClock::now();
    waited_us_ = 0;
  }
  /// Microseconds of work since start().
  double us() const { return us_since(begun_) - waited_us_; }
  /// Calls wait() without counting its time. Throws what it throws.
  template <class Wait>
  void wait_for(const Wait& wait) {
    struct Waiting {
      double& sum_us;
      WallClock::time_point begun = WallClock::now();
      ~Waiting() { sum_us += us_since(begun); }
    } const waiting{waited_us_};
    wait();
  }

 private:
  WallClock::time_point begun_ = WallClock::now();
  double waited_us_ = 0;
};

/// The thread that copies a batch's windows while the next batch is made. Several threads may call wait() and finish(),
/// but not while another calls start() or forget().
class WindowCopies {
 public:
  /// Runs `copy` in a new thread. The previous one must have ended.
  template <class Copy>
  void start(Copy copy) {
    copying_ = std::async(std::launch::async, std::move(copy)).share();
  }
  /// Waits for the thread, if any, and ignores its outcome.
  void wait() const {
    if (copying_.valid()) copying_.wait();
  }
  /// Waits for the thread, if any. False if it threw GpuOutOfMemory. Rethrows other exceptions.
  bool finish() const {
    if (!copying_.valid()) return true;
    try {
      copying_.get();
      return true;
    } catch (const GpuOutOfMemory&) {
      return false;
    }
  }
  /// Waits for the thread, if any, and drops it.
  void forget() noexcept {
    if (copying_.valid()) copying_.wait();
    copying_ = {};
  }

 private:
  std::shared_future<void> copying_;
};

/// Waits for the windows of all flights, since the store serves one at a time. The clock does not count this.
template <class Flights>
void wait_for_all_copies(const Flights& flights, WorkClock& clock) {
  clock.wait_for([&] {
    for (const auto& flight : flights) flight.copies.wait();
  });
}

/// Calls `take()`, which returns whether there was enough memory. If not, calls `free_others()`, which waits for other
/// batches and frees their memory, and tries once more. Throws GpuOutOfMemory if that fails too.
template <class Take, class FreeOthers>
void acquire_or_evict(const Take& take, const FreeOthers& free_others, const char* message) {
  if (take()) return;
  free_others();
  if (!take()) throw GpuOutOfMemory(message);
}

/// Adapts the maximum size of batches to the available memory. Host code, for one thread.
class BatchGrowth {
 public:
  /// Maximum queries of the next batch.
  std::size_t max_queries() const { return max_queries_; }
  /// Notes that a batch of `queries` queries was started.
  void started(std::size_t queries) {
    // More may fit by now.
    if (queries == max_queries_) max_queries_ *= 2;
  }
  /// Notes that memory was too small for a batch of `queries` queries, at least two.
  void too_many(std::size_t queries) { max_queries_ = queries / 2; }
  /// Notes that a batch can't run in windows, and that `queries` of its queries fit without.
  void fitted(std::size_t queries) {
    // Don't retry with every waiting query.
    max_queries_ = std::max<std::size_t>(queries, 1) * 2;
  }

  /// Starts a batch of the first of `waiting` queries; returns their number, or 0 if memory is too small for the first
  /// one alone. `start_batch(queries)` returns the number of queries that it took, at least one, or throws
  /// GpuOutOfMemory; then `clean_up()` undoes the attempt and frees memory, and after a second failure
  /// `take_less(queries)` makes the next attempt need less, by too_many() or otherwise. Throws other errors of these.
  template <class StartBatch, class CleanUp, class TakeLess>
  std::size_t start(std::size_t waiting, const StartBatch& start_batch, const CleanUp& clean_up,
                    const TakeLess& take_less) {
    for (bool freed = false;; freed = true) {
      waiting = std::min(waiting, max_queries_);
      try {
        const std::size_t count = start_batch(waiting);
        started(count);
        return count;
      } catch (const GpuOutOfMemory&) {
        // Try again below.
      }
      clean_up();
      // After the first failure, freeing memory may be enough.
      if (!freed) continue;
      if (waiting == 1) return 0;
      take_less(waiting);
    }
  }

 private:
  std::size_t max_queries_ = max_batch_queries;
};

}  // namespace quern::gpu
