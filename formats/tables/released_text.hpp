#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace quern {

/// Called with text that a pass no longer needs: pieces from the front on, in order. Another pass may follow.
using TextRelease = std::function<void(std::string_view piece)>;

/// Reports the text that one pass over it no longer needs, in pieces.
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

/// The number, from 1, of the line with the byte at `place`.
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

}  // namespace quern
