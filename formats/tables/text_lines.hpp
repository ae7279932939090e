#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/tables/released_text.hpp"

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
  /// `release`, if given, learns which lines have been passed. A line of more than `max_bytes` is cut there, blank or
  /// not: is_cut() says so, and what is behind it counts as a line of its own.
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

  /// Number of the line given last, counting all lines from 1.
  std::uint64_t number() const { return number_; }
  /// Whether the line given last is longer than what was given of it.
  bool is_cut() const { return is_cut_; }

 private:
  std::string_view rest_;
  std::size_t max_bytes_;
  ReleasedText released_;
  std::uint64_t number_ = 0;
  bool is_cut_ = false;
};

/// Cuts the first word off the front of `rest`; empty if there is none.
std::string_view next_word(std::string_view& rest);

/// Throws CorruptFile "NAME, line N: WHY".
[[noreturn]] void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why);

}  // namespace quern
