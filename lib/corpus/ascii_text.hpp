#pragma once
#include <string_view>

namespace quern {

/// The few ASCII operations that headers and tags ask for, whatever the locale.

inline bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_ascii_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// `text` without white space at its ends.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ascii_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether `text` is `lower_case`, in any case of its ASCII letters.
inline bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (ascii_lower(text[i]) != lower_case[i]) return false;
  }
  return true;
}

inline bool starts_with_ignoring_case(std::string_view text, std::string_view lower_case) {
  return equals_ignoring_case(text.substr(0, lower_case.size()), lower_case);
}

}  // namespace quern
