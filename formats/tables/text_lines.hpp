#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/core/ascii_text.hpp"

/// Lines and words of small text files: what the readers of queries, runs and judgements share.
namespace quern {

/// `text` without the byte-order mark of UTF-8, which some editors put in front.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  return text;
}

/// Gives the lines of a text that are not blank, without their ends (LF or CR LF).
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  /// False after the last line.
  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      line = rest_.substr(0, end);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!trim(line).empty()) return true;
    }
    return false;
  }

  /// Number of the line given last, counting all lines from 1.
  std::uint64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::uint64_t number_ = 0;
};

/// Cuts the first word off the front of `rest`; empty if there is none.
std::string_view next_word(std::string_view& rest);

/// Throws CorruptFile "NAME, line N: WHY".
[[noreturn]] void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why);

}  // namespace quern
