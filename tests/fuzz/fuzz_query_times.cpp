#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/tables/query_times.hpp"

/// Any bytes give possible times that survive a write and a re-read unchanged, or a library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quern::QueryTimeTable times = quern::parse_query_times({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const quern::QueryTime& time : times.rows)
      if (!(time.us > 0) || !std::isfinite(time.us) || time.features.shortest > time.features.postings) std::abort();
    const std::string text = quern::query_times_text(times);
    if (quern::query_times_text(quern::parse_query_times(text, "again")) != text) std::abort();
  } catch (const quern::Error&) {
  }
  return 0;
}
