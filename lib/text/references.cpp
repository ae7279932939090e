#include "quern/text/references.hpp"

#include <libxml/HTMLparser.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "quern/core/ascii_text.hpp"
#include "quern/text/utf8.hpp"

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

/// Length of the longest bare name that `text` begins with; 0 if there is none.
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

/// Length of the number in a reference like "&#233" or "&#xE9", from the # on; 0 if it isn't one.
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

/// The longest name in HTML 4's table has 8 characters; "&" and ";" aside, nothing longer is looked up.
constexpr std::size_t max_reference_bytes = 16;

void append_point(std::uint32_t point, std::string& out) {
  const bool is_control = point < 0x20 && point != '\t' && point != '\n';
  if (is_control) point = ' ';
  utf8proc_uint8_t bytes[4];
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    out += replacement_character;
    return;
  }
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

/// The code point of the text between "&" and ";". False if that is not a reference.
bool resolve_reference(std::string_view reference, std::uint32_t& point) {
  if (reference.size() >= 2 && reference[0] == '#') {
    const bool is_hexadecimal = ascii_lower(reference[1]) == 'x';
    const std::string_view digits = reference.substr(is_hexadecimal ? 2 : 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), point, is_hexadecimal ? 16 : 10);
    return error == std::errc() && end == digits.data() + digits.size();
  }
  const std::string name(reference);
  if (const htmlEntityDesc* entity = htmlEntityLookup(reinterpret_cast<const xmlChar*>(name.c_str()))) {
    point = entity->value;
    return true;
  }
  // XML's own, which HTML 4 lacks, and two of the Federal Register's.
  if (name == "apos") return point = '\'', true;
  if (name == "blank") return point = ' ', true;
  if (name == "hyph") return point = '-', true;
  return false;
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

void append_without_references(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t ampersand = text.find('&');
    out += text.substr(0, ampersand);
    if (ampersand == std::string_view::npos) return;
    text.remove_prefix(ampersand + 1);
    const std::size_t semicolon = text.substr(0, max_reference_bytes).find(';');
    std::uint32_t point = 0;
    if (semicolon != std::string_view::npos && resolve_reference(text.substr(0, semicolon), point)) {
      append_point(point, out);
      text.remove_prefix(semicolon + 1);
    } else {
      out += '&';
    }
  }
}

}  // namespace quern
