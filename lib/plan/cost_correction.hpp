#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>

namespace quern {

/// How much longer queries take on a device than predicted, learned from those that it has answered: costs may have
/// been measured on another day, or be built in. Thread-safe; what two threads learn at the same time may count once.
class CostCorrection {
 public:
  /// By which predictions are to be multiplied.
  double factor() const { return std::exp2(log_factor_.load(std::memory_order_relaxed)); }
  /// A query took so long that was predicted, without the factor, to take `predicted_us`; both above 0. Many queries
  /// may have been predicted before the first of them is learned from.
  void learn(double predicted_us, double took_us) {
    // Each query counts as much as any other, so that one that was interrupted does not count for many.
    constexpr double step = 1.0 / 16;
    const double now = log_factor_.load(std::memory_order_relaxed);
    const double off = std::clamp(std::log2(took_us / predicted_us) - now, -1.0, 1.0);
    log_factor_.store(std::clamp(now + step * off, -most, most), std::memory_order_relaxed);
  }

 private:
  static constexpr double most = 10;

  std::atomic<double> log_factor_ = 0;  ///< of base 2
};

}  // namespace quern
