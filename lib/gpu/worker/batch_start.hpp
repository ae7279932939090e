#pragma once
#include <algorithm>
#include <cstddef>
#include <future>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {

/// How long a thread of the host works on something, without what it waits for in between. Used by one thread.
class WorkClock {
 public:
  void start() {
    begun_ = WallClock::now();
    waited_us_ = 0;
  }
  /// Microseconds of work since start().
  double us() const { return us_since(begun_) - waited_us_; }
  /// Calls wait(), whose time does not count. Throws what it throws.
  template <class Wait>
  void wait_for(const Wait& wait) {
    const Waiting waiting(waited_us_);
    wait();
  }

 private:
  /// Adds its lifetime to a sum.
  class Waiting {
   public:
    explicit Waiting(double& sum_us) : sum_us_(sum_us) {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { sum_us_ += us_since(begun_); }

   private:
    double& sum_us_;
    WallClock::time_point begun_ = WallClock::now();
  };

  WallClock::time_point begun_ = WallClock::now();
  double waited_us_ = 0;
};

/// The thread that copies the windows of a batch while the next batch is made. Others may wait while one thread
/// finishes, but not while it starts or forgets.
class WindowCopies {
 public:
  /// Runs `copy` in a thread. The one before must have ended.
  template <class Copy>
  void start(Copy copy) {
    copying_ = std::async(std::launch::async, std::move(copy)).share();
  }
  /// Waits for the thread, if there is one, whatever becomes of it.
  void wait() const {
    if (copying_.valid()) copying_.wait();
  }
  /// Waits for the thread, if there is one. False if it found too little memory. Throws what else the thread threw.
  bool finish() const {
    if (!copying_.valid()) return true;
    try {
      copying_.get();
      return true;
    } catch (const GpuOutOfMemory&) {
      return false;
    }
  }
  /// Waits for the thread, if there is one; from now on there is none.
  void forget() noexcept {
    if (copying_.valid()) copying_.wait();
    copying_ = {};
  }

 private:
  std::shared_future<void> copying_;
};

/// Waits for the windows of all flights, since the store works for one at a time. The time is not the clock's.
template <class Flights>
void wait_for_all_copies(const Flights& flights, WorkClock& clock) {
  clock.wait_for([&] {
    for (const auto& flight : flights) flight.copies.wait();
  });
}

/// Calls `take()`, which takes memory and returns whether there was enough. If not, calls `free_others()`, which waits
/// for other batches and takes theirs, and tries once more. Throws GpuOutOfMemory with the message if that fails.
template <class Take, class FreeOthers>
void take_or_free(const Take& take, const FreeOthers& free_others, const char* message) {
  if (take()) return;
  free_others();
  if (!take()) throw GpuOutOfMemory(message);
}

/// How many queries a batch may have with the memory that there is. Host code, for one thread.
class BatchGrowth {
 public:
  /// Maximum queries of the next batch.
  std::size_t max_queries() const { return max_queries_; }
  /// A batch with this many queries was started.
  void started(std::size_t queries) {
    // Perhaps more fit by now.
    if (queries == max_queries_) max_queries_ *= 2;
  }
  /// There was too little memory for a batch of `queries`, two or more.
  void too_many(std::size_t queries) { max_queries_ = queries / 2; }
  /// A batch can't go by windows of documents; this many of its queries fit without.
  void fitted(std::size_t queries) {
    // Don't retry with every waiting query.
    max_queries_ = std::max<std::size_t>(queries, 1) * 2;
  }

  /// Starts a batch of the first of `waiting` queries; returns how many are in it, or 0 if memory is too small for the
  /// first one alone. `start_batch(queries)` returns how many of these it took, at least one, or throws
  /// GpuOutOfMemory; then `clean_up()` undoes what it did and frees what the next attempt may need, and, if that was
  /// not enough, `take_less(queries)` makes the next attempt need less, by too_many() or otherwise. Throws
  /// what they throw, but for GpuOutOfMemory of `start_batch`.
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
        // Less is tried below.
      }
      clean_up();
      // The first time, it may be enough that memory was freed.
      if (!freed) continue;
      if (waiting == 1) return 0;
      take_less(waiting);
    }
  }

 private:
  std::size_t max_queries_ = max_batch_queries;
};

}  // namespace quern::gpu
