#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/corpus/byte_source.hpp"

namespace {

/// More is not read: a few bytes may stand for gigabytes.
constexpr std::size_t max_content_bytes = 4 << 20;

/// What a source gives until its end, its limit or its error, which adds a mark.
std::string content(const std::string& stored, std::size_t step) {
  std::string text;
  std::vector<std::uint8_t> piece(step);
  try {
    const std::unique_ptr<quern::ByteSource> source = quern::ByteSource::of_memory("fuzz", stored);
    while (text.size() < max_content_bytes) {
      const std::size_t got = source->read(piece);
      if (got == 0) return text + "end";
      text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    text.resize(max_content_bytes);
  } catch (const quern::CorruptFile&) {
    text += "error";
  }
  return text;
}

}  // namespace

/// The content is the same, and ends the same, whatever the size of a read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string stored(reinterpret_cast<const char*>(data), size);
  const std::string large = content(stored, 64 << 10);
  const std::string small = content(stored, 61);
  // On an error, a larger read may lose what it had in hand: then the smaller one's content begins alike.
  if (small != large && small.compare(0, large.size() - std::min<std::size_t>(5, large.size()), large, 0,
                                      large.size() - std::min<std::size_t>(5, large.size())) != 0) {
    std::abort();
  }
  return 0;
}
