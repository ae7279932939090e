#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "inverted_fuzzing.hpp"

/// Four u16, the sizes of all files except the last, then the files. Accepted input can be indexed, and survives a
/// write and a re-read unchanged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  testing::Ds2iParts parts;
  const std::size_t head_bytes = 2 * (parts.size() - 1);
  if (size < head_bytes) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + head_bytes, size - head_bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    parts[i] = rest.substr(0, last ? rest.size() : load_le<std::uint16_t>(data + 2 * i));
    rest.remove_prefix(parts[i].size());
  }
  try {
    const testing::InvertedModel model = testing::read_ds2i_parts(parts);
    testing::check_inverted(model);
    testing::check_same_inverted(
        testing::read_ds2i_parts(testing::ds2i_of(model, std::filesystem::temp_directory_path().string())), model);
  } catch (const Error&) {
  }
  return 0;
}
