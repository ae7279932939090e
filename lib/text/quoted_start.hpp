#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "quern/text/utf8.hpp"

namespace quern {

/// A text as messages quote it, in one line: its first characters, of at most `max_bytes`, in quotation marks, with
/// dots if there are more. Control characters are shown as question marks.
inline std::string quoted_start(std::string_view text, std::size_t max_bytes = 40) {
  const std::string_view shown = cut_at_character(text, max_bytes);
  std::string quoted = "'";
  for (const char c : shown) quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return quoted += shown.size() < text.size() ? "...'" : "'";
}

}  // namespace quern
