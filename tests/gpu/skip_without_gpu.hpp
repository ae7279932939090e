#pragma once
#include "quern/gpu/device/device_info.hpp"

#include "catch.hpp"

/// Ends a test case if there is no GPU; ctest recognises the warning and reports the test as skipped.
#define SKIP_WITHOUT_GPU()            \
  do {                                \
    if (quern::list_gpus().empty()) { \
      WARN("skipped: no GPU");        \
      return;                         \
    }                                 \
  } while (false)
