#pragma once
#include <string>
#include <string_view>

namespace quern {

/// ASCII operations for headers, tags and URLs, independent of the locale.

constexpr bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/// HTML's white space, which the vertical tab is not.
constexpr bool is_html_blank(char c) { return is_ascii_space(c) && c != '\v'; }
constexpr bool is_ascii_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// `text` with its ASCII letters in lower case.
inline std::string ascii_lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = ascii_lower(c);
  return lowered;
}

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
