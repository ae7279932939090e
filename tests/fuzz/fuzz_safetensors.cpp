#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/weight_array.hpp"

/// Any bytes give finite numbers of the tensor "w", or a library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quern::WeightArray array = quern::read_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz", "w");
    for (const float value : array.values)
      if (!std::isfinite(value)) std::abort();
  } catch (const quern::Error&) {
  }
  return 0;
}
