#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/io/byte_source.hpp"

namespace {

/// More is not read: a few bytes may stand for gigabytes.
constexpr std::size_t max_content_bytes = 4 << 20;

struct Content {
  std::string text;
  bool failed = false;
};

/// What a source gives until its end, its limit or its error.
Content read_content(const std::string& stored, std::size_t step) {
  Content content;
  std::vector<std::uint8_t> piece(step);
  try {
    const std::unique_ptr<quern::ByteSource> source = quern::ByteSource::of_memory("fuzz", stored);
    while (content.text.size() < max_content_bytes) {
      const std::size_t got = source->read(piece);
      if (got == 0) return content;
      content.text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    content.text.resize(max_content_bytes);
  } catch (const quern::CorruptFile&) {
    content.failed = true;
  } catch (const quern::InvalidArgument&) {  // a window that takes too much memory
    content.failed = true;
  }
  return content;
}

}  // namespace

/// The content is the same, and ends the same, whatever the size of a read. What stands right before an error may be
/// lost with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string stored(reinterpret_cast<const char*>(data), size);
  const Content large = read_content(stored, 64 << 10);
  const Content small = read_content(stored, 61);
  const std::size_t common = std::min(large.text.size(), small.text.size());
  const bool same_begin = large.text.compare(0, common, small.text, 0, common) == 0;
  const bool same_end = large.failed == small.failed && (large.failed || large.text.size() == small.text.size());
  const bool reached_limit = std::max(large.text.size(), small.text.size()) == max_content_bytes;
  if (!same_begin || !(same_end || reached_limit)) std::abort();
  return 0;
}
