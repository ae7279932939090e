#include "quern/text/html_entities.hpp"

#include <libxml/HTMLparser.h>

#include <algorithm>
#include <vector>

#include "quern/core/ascii_text.hpp"

namespace quern {
namespace {

/// No name that goes without a semicolon is longer.
constexpr std::size_t max_bare_name = 6;

bool is_hex_digit(char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// The names that HTML knows without a semicolon: those of Latin-1 and of the characters of markup; sorted.
const std::vector<std::string>& bare_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (unsigned value = 0; value < 256; ++value) {
      const htmlEntityDesc* entity = htmlEntityValueLookup(value);
      if (entity != nullptr && value != '\'') all.emplace_back(entity->name);
    }
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

/// Length of the longest bare name that `text` begins with; 0 where there is none.
std::size_t bare_name_length(std::string_view text) {
  const auto& names = bare_names();
  for (std::size_t length = std::min(text.size(), max_bare_name); length > 1; --length) {
    const std::string_view name = text.substr(0, length);
    const auto at = std::lower_bound(names.begin(), names.end(), name);
    if (at != names.end() && *at == name) return length;
  }
  return 0;
}

template <class Allowed>
std::size_t run_length(std::string_view text, Allowed allowed) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), allowed) - text.begin());
}

/// Length of the number in a reference like "&#233" or "&#xE9", from the # on; 0 where it isn't one.
std::size_t number_length(std::string_view text) {
  if (text.empty() || text[0] != '#') return 0;
  const bool hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  const std::size_t before = hex ? 2 : 1;
  const std::string_view digits = text.substr(before);
  const std::size_t count = hex ? run_length(digits, is_hex_digit) : run_length(digits, is_ascii_digit);
  return count == 0 ? 0 : before + count;
}

/// How much of `text`, which follows an &, is a reference without its semicolon.
std::size_t reference_length(std::string_view text) {
  if (const std::size_t length = number_length(text)) return length;
  const std::size_t length = run_length(text, [](char c) { return is_ascii_letter(c) || is_ascii_digit(c); });
  const bool whole = length > 0 && is_ascii_letter(text[0]) && length < text.size() && text[length] == ';';
  return whole ? length : bare_name_length(text.substr(0, length));
}

}  // namespace

void append_with_whole_references(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find('&'), text.size());
    out.append(text.data(), begin);
    text.remove_prefix(begin);
    if (text.empty()) return;
    const std::size_t length = reference_length(text.substr(1));
    if (length == 0) {
      out += "&amp;";
      text.remove_prefix(1);
    } else {
      out.append(text.data(), 1 + length) += ';';
      text.remove_prefix(1 + length);
      if (!text.empty() && text[0] == ';') text.remove_prefix(1);
    }
  }
}

}  // namespace quern
