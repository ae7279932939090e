#include <cstdint>

#include "fuzz/ranker_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The text does not start with a brace.
  quern::fuzz::read_any_model(data[0] == '{' ? quern::lightgbm_json_format : quern::lightgbm_format,
                              {reinterpret_cast<const char*>(data), size});
  return 0;
}
