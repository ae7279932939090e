#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/weight_array.hpp"

/// Any bytes give as many finite numbers as the shape says, or a library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quern::WeightArray array = quern::read_npy({reinterpret_cast<const char*>(data), size}, "fuzz");
    std::uint64_t count = 1;
    for (const std::uint64_t each : array.shape) count *= each;
    if (count != array.values.size()) std::abort();
    for (const float value : array.values)
      if (!std::isfinite(value)) std::abort();
  } catch (const quern::Error&) {
  }
  return 0;
}
