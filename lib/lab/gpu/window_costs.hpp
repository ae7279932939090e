#pragma once
#include <vector>

/// The cost model of windows of documents: a fixed cost per window, one per list and one per byte. Host code.
namespace quern {

/// The work of a query's or batch's windows.
struct WindowWork {
  double bytes = 0;         ///< copied or needed by the windows
  double window_lists = 0;  ///< lists, counted once per window
  double windows = 0;
};

/// Costs in microseconds, none negative.
struct WindowCosts {
  double per_byte = 0, per_window_list = 0, per_window = 0;

  double us(const WindowWork& work) const {
    return per_byte * work.bytes + per_window_list * work.window_lists + per_window * work.windows;
  }
};

/// The measured time of some work.
struct WindowSample {
  WindowWork work;
  double us = 0;
  double all_us = 0;  ///< total time that includes `us`: distances are relative to it
};

/// The least-squares costs; all 0 without samples.
WindowCosts fit_window_costs(const std::vector<WindowSample>& samples);

}  // namespace quern
