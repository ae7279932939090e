#pragma once
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

/// Reads a foreign binary file through a buffer. The file isn't trusted: memory use follows the bytes read, never a
/// length in the file. Throws CorruptFile with file and offset.
class SourceBytes {
 public:
  explicit SourceBytes(ByteSource& source) : source_(source) {}

  const std::string& name() const { return source_.name(); }
  /// Bytes read so far, after decompression.
  std::uint64_t position() const { return before_ + at_; }
  bool at_end() { return at_ == size_ && !fill(); }

  std::uint8_t byte() {
    if (at_end()) fail("ends too early");
    return buffer_[at_++];
  }
  std::uint32_t le32();
  /// Reads a LEB128 number, as in protocol buffers.
  std::uint64_t varint();
  /// Replaces `out` by the next `size` bytes, at most max_string_bytes.
  void string(std::uint64_t size, std::string& out);
  /// Replaces `out` by the bytes up to the next line feed, without the LF or CR LF. The last line needs no line feed.
  /// False at the end of the file.
  bool line(std::string& out);
  void skip(std::uint64_t size);

  [[noreturn]] void fail(std::string_view why) const { fail_at(position(), why); }
  [[noreturn]] void fail_at(std::uint64_t position, std::string_view why) const;

  /// Limit of a term's or document's name.
  static constexpr std::uint64_t max_string_bytes = 1 << 20;

 private:
  bool fill();

  ByteSource& source_;
  Bytes buffer_;
  std::size_t at_ = 0, size_ = 0;
  std::uint64_t before_ = 0;  ///< bytes before the buffer
};

/// Calls visit(line, number) for each line of a source that isn't blank; blank lines count too, from 1. Lines come
/// without their ends, the first without a byte-order mark. For text files of any size. Throws CorruptFile if a line
/// has more than 1 MiB.
template <class Visit>
void for_each_source_line(ByteSource& source, Visit&& visit) {
  SourceBytes bytes(source);
  std::string line;
  for (std::uint64_t number = 1; bytes.line(line); ++number) {
    const std::string_view text = number == 1 ? without_byte_order_mark(line) : std::string_view(line);
    if (!trim(text).empty()) visit(text, number);
  }
}

}  // namespace quern
