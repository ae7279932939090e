#include "quern/formats/markup_scanner.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "quern/formats/text_lines.hpp"

namespace quern {
namespace {

constexpr std::string_view comment_begin = "<!--", comment_end = "-->";
constexpr std::string_view cdata_begin = "<![CDATA[", cdata_end = "]]>";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_character(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool begins_with(std::string_view text, std::size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

/// Behind the next `what` from `at` on; the end where there is none.
std::size_t behind(std::string_view text, std::size_t at, std::string_view what) {
  const std::size_t found = text.find(what, at);
  return found == std::string_view::npos ? text.size() : found + what.size();
}

/// Reads the tag at text[at] == '<'. A '<' that opens no tag ("a < b", "<3") is text.
std::optional<Tag> tag_at(std::string_view text, std::size_t at) {
  Tag tag;
  tag.begin = at++;
  if (at < text.size() && text[at] == '/') tag.closing = true, ++at;
  const std::size_t name = at;
  if (at == text.size() || !is_letter(text[at])) return std::nullopt;
  while (at < text.size() && is_name_character(text[at])) ++at;
  tag.name = text.substr(name, at - name);
  const std::size_t bracket = text.find_first_of("<>", at);
  if (bracket == std::string_view::npos || text[bracket] == '<') return std::nullopt;
  tag.attributes = text.substr(at, bracket - at);
  tag.end = bracket + 1;
  return tag;
}

void put_utf8(std::string& out, std::uint32_t code) {
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

/// Appends what the reference at text[at] == '&' stands for and gives its length; 0 where it is none that we
/// know.
std::size_t resolve_reference(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::size_t longest = 12;
  const std::string_view window = text.substr(at, longest);
  const std::size_t size = window.find(';');
  if (size == std::string_view::npos) return 0;
  std::string_view body = window.substr(1, size - 1);
  if (!body.empty() && body.front() == '#') {
    body.remove_prefix(1);
    const bool hexadecimal = !body.empty() && lower(body.front()) == 'x';
    if (hexadecimal) body.remove_prefix(1);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), code, hexadecimal ? 16 : 10);
    if (end != body.data() + body.size() || error == std::errc::invalid_argument) return 0;
    put_utf8(out, error == std::errc() ? code : 0xfffd);
    return size + 1;
  }
  constexpr std::pair<std::string_view, char> named[] = {{"amp", '&'},  {"lt", '<'},    {"gt", '>'},
                                                         {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '}};
  for (const auto& [entity, character] : named) {
    if (body == entity) {
      out.push_back(character);
      return size + 1;
    }
  }
  return 0;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<Tag> TagScanner::next() {
  while ((at_ = text_.find('<', at_)) != std::string_view::npos) {
    if (begins_with(text_, at_, comment_begin)) {
      at_ = behind(text_, at_, comment_end);
    } else if (begins_with(text_, at_, cdata_begin)) {
      at_ = behind(text_, at_, cdata_end);
    } else if (const std::optional<Tag> tag = tag_at(text_, at_)) {
      at_ = tag->end;
      return tag;
    } else {
      ++at_;
    }
  }
  at_ = text_.size();
  return std::nullopt;
}

std::string field_text(std::string_view raw) {
  std::string text;
  std::size_t cdata_until = 0;
  for (std::size_t at = 0; at < raw.size();) {
    const char c = raw[at];
    if (cdata_until > at) {
      if (cdata_until - at == cdata_end.size() && begins_with(raw, at, cdata_end)) {
        at = cdata_until;
        continue;
      }
    } else if (c == '<' && begins_with(raw, at, comment_begin)) {
      at = behind(raw, at, comment_end);
      continue;
    } else if (c == '<' && begins_with(raw, at, cdata_begin)) {
      cdata_until = behind(raw, at, cdata_end);
      at += cdata_begin.size();
      continue;
    } else if (c == '&') {
      if (const std::size_t size = resolve_reference(raw, at, text)) {
        at += size;
        continue;
      }
    }
    if (!is_white_space(c)) {
      text.push_back(c);
    } else if (!text.empty() && text.back() != ' ') {
      text.push_back(' ');
    }
    ++at;
  }
  return std::string(trimmed(text));
}

std::string attribute_value(std::string_view attributes, std::string_view wanted) {
  while (true) {
    const std::size_t equals = attributes.find('=');
    if (equals == std::string_view::npos) return {};
    const std::string_view name = trimmed(attributes.substr(0, equals));
    std::string_view rest = trimmed(attributes.substr(equals + 1));
    std::string_view value;
    if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) {
      const std::size_t end = std::min(rest.find(rest.front(), 1), rest.size());
      value = rest.substr(1, end - 1);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    } else {
      value = next_word(rest);
    }
    if (same_word(name, wanted)) return field_text(value);
    attributes = rest;
  }
}

}  // namespace quern
