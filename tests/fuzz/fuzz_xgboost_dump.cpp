#include <cstdint>

#include "fuzz/ranker_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  quern::fuzz::read_any_model(data[0] == '[' ? quern::xgboost_json_dump_format : quern::xgboost_text_dump_format,
                              {reinterpret_cast<const char*>(data), size});
  return 0;
}
