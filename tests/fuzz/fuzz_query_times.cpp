#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/tables/query_times.hpp"

/// Whatever the bytes: possible times, which are the same when written and read again, or an error of ours.
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
