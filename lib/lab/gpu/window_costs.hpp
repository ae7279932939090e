#pragma once
#include <vector>

/// What windows of documents cost: each has a fixed cost, and one per list, besides that of its bytes. Host code.
namespace quern {

/// Of a query, or of a batch: all of them are sums over windows.
struct WindowWork {
  double bytes = 0;         ///< that the windows bring, or need
  double window_lists = 0;  ///< lists, each as often as there are windows
  double windows = 0;
};

/// A sum of costs in microseconds, none of which is below 0.
struct WindowCosts {
  double per_byte = 0, per_window_list = 0, per_window = 0;

  double us(const WindowWork& work) const {
    return per_byte * work.bytes + per_window_list * work.window_lists + per_window * work.windows;
  }
};

/// What some work was measured to take.
struct WindowSample {
  WindowWork work;
  double us = 0;
  double all_us = 0;  ///< the whole that `us` is a part of: a distance counts relative to it
};

/// The costs of which the sum of squared distances from the samples is least; all 0 without samples.
WindowCosts fit_window_costs(const std::vector<WindowSample>& samples);

}  // namespace quern
