#pragma once
#include <ctime>

#include "quern/rank/models/ranker.hpp"

namespace quern {

/// Adds this thread's processor time since the last stage's end to a stage; does nothing without stages.
class StageClock {
 public:
  explicit StageClock(RankerStages* stages) : stages_(stages), last_(stages == nullptr ? 0 : now()) {}

  void end(double RankerStages::*stage) {
    if (stages_ == nullptr) return;
    const double time = now();
    stages_->*stage += time - last_;
    last_ = time;
  }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  RankerStages* stages_;
  double last_;
};

}  // namespace quern
