#pragma once
#include <future>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/gpu/engine/work_clock.hpp"

namespace quern::gpu {

/// The thread that copies the windows of a batch while the next batch is made. Used by one other thread.
class WindowCopies {
 public:
  /// Runs `copy` in a thread. The one before must have been waited for.
  template <class Copy>
  void start(Copy copy) {
    copying_ = std::async(std::launch::async, std::move(copy));
  }
  /// Waits for the thread, if there is one; the time is not the clock's. Throws what the thread threw, but for
  /// GpuOutOfMemory: see take_ran_out().
  void wait(WorkClock& clock) {
    if (!copying_.valid()) return;
    try {
      clock.wait_for([this] { copying_.get(); });
    } catch (const GpuOutOfMemory&) {
      // Whoever waits may be making another batch; this one is given up when it lands.
      ran_out_ = true;
    }
  }
  /// Whether a thread that was waited for found too little memory. Says so once.
  bool take_ran_out() { return std::exchange(ran_out_, false); }
  /// Waits for the thread, if there is one, and drops what it threw.
  void abandon() noexcept {
    if (copying_.valid()) copying_.wait();
    copying_ = {};
    ran_out_ = false;
  }

 private:
  std::future<void> copying_;  ///< until it is waited for
  bool ran_out_ = false;
};

/// Waits for the windows of all flights, since the store works for one at a time. Throws as WindowCopies::wait() does.
template <class Flights>
void wait_for_all_copies(Flights& flights, WorkClock& clock) {
  for (auto& flight : flights) flight.copies.wait(clock);
}

}  // namespace quern::gpu
