#pragma once
#include <future>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/gpu/worker/work_clock.hpp"

namespace quern::gpu {

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

}  // namespace quern::gpu
