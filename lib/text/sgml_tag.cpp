#include "quern/text/sgml_tag.hpp"

#include <libxml/HTMLparser.h>
#include <utf8proc.h>

#include <charconv>
#include <cstdint>
#include <string>

#include "quern/core/ascii_text.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

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

/// Of what stands between "&" and ";". False where that is no reference.
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

bool SgmlTagScanner::next(std::size_t from, SgmlTag& tag) {
  for (std::size_t at = text_.find('<', from); at != std::string_view::npos; at = text_.find('<', at + 1)) {
    if (read(at, tag)) return true;
  }
  return false;
}

bool SgmlTagScanner::read(std::size_t begin, SgmlTag& tag) {
  tag = SgmlTag();
  tag.begin = begin;
  if (text_.substr(begin, 4) == "<!--") {
    tag.end = comment_end(begin + 4);
    if (tag.end != std::string_view::npos) return true;
  }
  std::size_t at = begin + 1;
  if (at >= text_.size()) return false;
  const bool is_declaration = text_[at] == '!' || text_[at] == '?';
  tag.closing = text_[at] == '/';
  if (tag.closing || is_declaration) ++at;
  if (at >= text_.size() || (!is_declaration && !is_ascii_letter(text_[at]))) return false;

  const std::size_t end = text_.find_first_of("<>", at);
  if (end == std::string_view::npos || text_[end] == '<') return false;
  tag.end = end + 1;
  if (is_declaration) return true;
  std::string_view inside = text_.substr(at, end - at);
  if (inside.back() == '/') inside.remove_suffix(1);
  std::size_t name_size = 0;
  while (name_size < inside.size() && !is_ascii_space(inside[name_size])) ++name_size;
  tag.name = inside.substr(0, name_size);
  tag.attributes = trim(inside.substr(name_size));
  return true;
}

std::size_t SgmlTagScanner::comment_end(std::size_t begin) {
  if (no_comment_ends_) return std::string_view::npos;
  const std::size_t end = text_.find("-->", begin);
  if (end != std::string_view::npos) return end + 3;
  no_comment_ends_ = true;
  return end;
}

std::string_view sgml_attribute(std::string_view attributes, std::string_view lower_case_name) {
  while (!attributes.empty()) {
    const std::size_t equals = attributes.find('=');
    if (equals == std::string_view::npos) return {};
    std::string_view name = trim(attributes.substr(0, equals));
    name.remove_prefix(name.find_last_of(" \t\r\n") + 1);  // npos + 1 is 0
    std::string_view value = trim(attributes.substr(equals + 1));
    std::size_t value_end;
    const bool is_quoted = !value.empty() && (value[0] == '"' || value[0] == '\'');
    if (is_quoted) {
      const char quote = value[0];
      value.remove_prefix(1);
      value_end = value.find(quote);
    } else {
      value_end = value.find_first_of(" \t\r\n");
    }
    const std::string_view rest =
        value_end == std::string_view::npos ? std::string_view() : value.substr(value_end + 1);
    if (equals_ignoring_case(name, lower_case_name)) return value.substr(0, value_end);
    attributes = rest;
  }
  return {};
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
