#include <cstdint>
#include <filesystem>

#include "inverted_fuzzing.hpp"

/// Accepted input can be indexed, and survives a write and a re-read unchanged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    const testing::InvertedModel model =
        testing::read_ciff_text(std::string(reinterpret_cast<const char*>(data), size));
    testing::check_inverted(model);
    testing::check_same_inverted(
        testing::read_ciff_text(testing::ciff_of(model, std::filesystem::temp_directory_path().string())), model);
  } catch (const Error&) {
  }
  return 0;
}
