#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/plan/throughput_model.hpp"

/// Any bytes give finite points from which a model can be built, or a library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quern::MeasuredPoints points =
        quern::parse_measured_points({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const auto* series : {&points.query_us, &points.transfer_us_per_byte, &points.transfer_bytes})
      for (const quern::MeasuredPoint& point : *series)
        if (!(point.x >= 0) || !std::isfinite(point.x) || !(point.y >= 0) || !std::isfinite(point.y)) std::abort();
    const quern::ThroughputModel model(points);
    quern::throughput_curve(model, 1e9, 1e6, 10);
  } catch (const quern::Error&) {
  }
  return 0;
}
