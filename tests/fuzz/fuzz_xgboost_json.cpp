#include <cstdint>

#include "fuzz/ranker_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quern::fuzz::read_any_model(quern::xgboost_json_format, {reinterpret_cast<const char*>(data), size});
  return 0;
}
