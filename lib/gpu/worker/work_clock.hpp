#pragma once
#include "quern/core/wall_clock.hpp"

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

}  // namespace quern::gpu
