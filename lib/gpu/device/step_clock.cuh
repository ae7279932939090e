#pragma once
#include <cstddef>
#include <deque>

#include "quern/gpu/device/device_memory.cuh"

/// How long a stream works on one thing, without what it waits for in between. For CUDA sources only.
namespace quern::gpu {

/// Adds up the times of steps, each of which is enclosed by begin() and end() in the same stream. A stream waits for
/// others outside of steps. Used by one thread at a time.
class StepClock {
 public:
  /// Forgets all steps. None may be under way.
  void clear() { steps_ = 0; }
  void begin(const Stream& stream) {
    if (steps_ == events_.size()) events_.emplace_back();
    events_[steps_].begun.record(stream);
  }
  void end(const Stream& stream) { events_[steps_++].ended.record(stream); }
  /// Microseconds of the GPU's clock in all steps since clear(), which must have ended.
  double us() const {
    double sum = 0;
    for (std::size_t i = 0; i < steps_; ++i) sum += events_[i].ended.us_since(events_[i].begun);
    return sum;
  }

 private:
  struct Step {
    Event begun, ended;
  };

  std::deque<Step> events_;  ///< of this and earlier times, as events take time to make
  std::size_t steps_ = 0;
};

}  // namespace quern::gpu
