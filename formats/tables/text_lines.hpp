#pragma once
#include "quern/core/bytes.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

/// Called with text that a pass no longer needs, in pieces from front to back. Another pass may follow.
using TextRelease = std::function<void(std::string_view piece)>;

/// Reports in pieces the text that a pass no longer needs.
class ReleasedText {
 public:
  /// An empty `release` reports nothing.
  ReleasedText(std::string_view text, TextRelease release) : text_(text), release_(std::move(release)) {}

  /// The pass no longer needs the text before `place`.
  void advance_to(const char* place) { advance_to(static_cast<std::size_t>(place - text_.data())); }
  void advance_to(std::size_t passed) {
    if (!release_ || passed < reported_ + piece_bytes) return;
    release_(text_.substr(reported_, passed - reported_));
    reported_ = passed;
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{8} << 20;

  std::string_view text_;
  TextRelease release_;
  std::size_t reported_ = 0;
};

/// The number, from 1, of the line that contains the byte at `place`.
inline std::uint64_t line_number_at(std::string_view text, std::size_t place, const TextRelease& release = {}) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  ReleasedText released(text, release);
  std::uint64_t number = 1;
  for (std::size_t from = 0; from < place; from += at_once) {
    released.advance_to(from);
    const std::string_view piece = text.substr(from, std::min(at_once, place - from));
    number += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
  }
  return number;
}

// Lines and words of small text files, for the readers of queries, runs and judgements.

/// Removes the UTF-8 byte-order mark that some editors add.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  return text;
}

/// Reads the lines of a text that aren't blank, without their ends (LF or CR LF).
class LineReader {
 public:
  /// `release`, if given, receives lines that have been passed. Lines longer than `max_bytes` are cut there, even blank
  /// ones; is_cut() reports it, and the rest counts as a line of its own.
  explicit LineReader(std::string_view text, const TextRelease& release = {},
                      std::size_t max_bytes = std::string_view::npos)
      : rest_(text), max_bytes_(max_bytes), released_(text, release) {}

  /// False after the last line.
  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      released_.advance_to(rest_.data());
      const std::size_t size = std::min({rest_.substr(0, max_bytes_).find('\n'), max_bytes_, rest_.size()});
      is_cut_ = size < rest_.size() && rest_[size] != '\n';
      line = rest_.substr(0, size);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      rest_.remove_prefix(std::min(rest_.size(), is_cut_ ? size : size + 1));
      ++number_;
      if (is_cut_ || !trim(line).empty()) return true;
    }
    return false;
  }

  /// Number of the last line read, counting all lines from 1.
  std::uint64_t number() const { return number_; }
  /// Whether the last line read was cut.
  bool is_cut() const { return is_cut_; }

 private:
  std::string_view rest_;
  std::size_t max_bytes_;
  ReleasedText released_;
  std::uint64_t number_ = 0;
  bool is_cut_ = false;
};

/// Throws CorruptFile "NAME, line N: WHY".
[[noreturn]] void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why);

/// Reads the fields of a line, one after another. Throws CorruptFile, with file and line, if a field is missing or has
/// another type.
class TabFields {
 public:
  /// `name`: the file's name in messages; `number`: the line's number. Both texts must outlive this.
  TabFields(std::string_view line, std::string_view name, std::uint64_t number)
      : rest_(line), name_(name), number_(number) {}

  /// Never empty.
  std::string_view text();
  /// A whole number below 2^64.
  std::uint64_t count();
  /// A finite number.
  double number();
  /// Throws if fields are left.
  void end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::string_view rest_, name_;
  std::uint64_t number_;
  bool at_end_ = false;
};

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
