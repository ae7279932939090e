#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/io/byte_source.hpp"

namespace {

/// Limit of reading: a few bytes may decompress to gigabytes.
constexpr std::size_t max_content_bytes = 4 << 20;

struct Content {
  std::string text;
  bool failed = false;
};

/// A source's content up to its end, the limit or an error.
Content read_content(const std::string& stored, std::size_t step) {
  Content content;
  std::vector<std::uint8_t> piece(step);
  try {
    const std::unique_ptr<quern::ByteSource> source = quern::ByteSource::from_memory("fuzz", stored);
    while (content.text.size() < max_content_bytes) {
      const std::size_t got = source->read(piece);
      if (got == 0) return content;
      content.text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    content.text.resize(max_content_bytes);
  } catch (const quern::CorruptFile&) {
    content.failed = true;
  } catch (const quern::InvalidArgument&) {  // a window that needs too much memory
    content.failed = true;
  }
  return content;
}

/// The content of a source that skips damage, up to its end, the limit or an error, with a mark for each damage.
std::string read_segments(const std::string& stored, std::size_t step) {
  std::string text;
  std::vector<std::uint8_t> piece(step);
  try {
    const auto source = quern::DamageSkippingSource::from_memory("fuzz", stored);
    while (text.size() < max_content_bytes) {
      const std::size_t got = source->read(piece);
      text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
      if (got > 0) continue;
      const auto damage = source->take_damage();
      if (!damage) return text;
      if (damage->stored_offset > stored.size() || damage->sound_bytes > text.size()) std::abort();
      text += "\n[damage at " + std::to_string(damage->stored_offset) + "]\n";
    }
    text.resize(max_content_bytes);
  } catch (const quern::Error&) {  // of a zstd file
    text.clear();
  }
  return text;
}

}  // namespace

/// The content and its end don't depend on the size of reads, except that bytes right before an error may be lost. When
/// damage is skipped, an undamaged file has the same content, and any other file the same segments.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string stored(reinterpret_cast<const char*>(data), size);
  const Content large = read_content(stored, 64 << 10);
  const Content small = read_content(stored, 61);
  const std::size_t common = std::min(large.text.size(), small.text.size());
  const bool same_begin = large.text.compare(0, common, small.text, 0, common) == 0;
  const bool same_end = large.failed == small.failed && (large.failed || large.text.size() == small.text.size());
  const bool reached_limit = std::max(large.text.size(), small.text.size()) == max_content_bytes;
  if (!same_begin || !(same_end || reached_limit)) std::abort();
  const std::string segments = read_segments(stored, 64 << 10);
  if (read_segments(stored, 61) != segments) std::abort();
  if (!large.failed && !reached_limit && segments != large.text) std::abort();
  return 0;
}
