#include "quern/text/sgml_tag.hpp"

#include "quern/core/bytes.hpp"
#include "quern/text/text_block.hpp"

namespace quern {
namespace {

/// Comments and CDATA sections: what begins them, and what ends them whatever tags are between.
struct Section {
  std::string_view begin, end;
};
constexpr Section sections[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}};

}  // namespace

bool SgmlTagScanner::next(std::size_t from, SgmlTag& tag) {
  undecided_ = std::string_view::npos;
  for (std::size_t at = text_.find('<', from); at != std::string_view::npos; at = text_.find('<', at + 1)) {
    if (read(at, tag)) return true;
    if (undecided_ != std::string_view::npos) return false;
  }
  return false;
}

void SgmlTagScanner::move(std::size_t passed, std::string_view window, bool ends) {
  text_ = window;
  ends_ = ends;
  for (std::size_t& end : section_ends_) end -= std::min(end, passed);
}

/// Whether more text would decide what begins at `begin`; if so, sets undecided_.
bool SgmlTagScanner::is_undecided(std::size_t begin) {
  const bool undecided = !ends_ && text_.size() - begin <= max_tag_bytes;
  if (undecided) undecided_ = begin;
  return undecided;
}

bool SgmlTagScanner::read(std::size_t begin, SgmlTag& tag) {
  tag = SgmlTag();
  tag.begin = begin;
  if (text_.size() - begin < sections[1].begin.size() && is_undecided(begin)) return false;
  const bool may_be_section = text_.size() - begin > 1 && text_[begin + 1] == '!';
  for (std::size_t i = 0; may_be_section && i < std::size(sections); ++i) {
    if (!text_.substr(begin).starts_with(sections[i].begin)) continue;
    tag.end = section_end(i, begin + sections[i].begin.size());
    if (tag.end != std::string_view::npos && tag.end - begin <= max_tag_bytes) return true;
    if (tag.end == std::string_view::npos && is_undecided(begin)) return false;
  }
  std::size_t at = begin + 1;
  if (at >= text_.size()) return false;
  const bool is_declaration = text_[at] == '!' || text_[at] == '?';
  tag.closing = text_[at] == '/';
  if (tag.closing || is_declaration) ++at;
  if (at >= text_.size() || (!is_declaration && !is_ascii_letter(text_[at]))) return false;

  const std::size_t end = find_any_of<'<', '>'>(text_, at);
  if (end == text_.size()) {
    is_undecided(begin);
    return false;
  }
  if (text_[end] == '<' || end - begin >= max_tag_bytes) return false;
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

/// The position after the first end of a section's kind at or after `begin`.
std::size_t SgmlTagScanner::section_end(std::size_t section, std::size_t begin) {
  const std::string_view mark = sections[section].end;
  const std::size_t end = text_.find(mark, std::max(begin, section_ends_[section]));
  if (end != std::string_view::npos) {
    section_ends_[section] = end;
    return end + mark.size();
  }
  // The window may end within the mark.
  section_ends_[section] = text_.size() - std::min(text_.size(), mark.size() - 1);
  return end;
}

namespace {

/// Whether another attribute begins here, perhaps after some without values.
bool begins_attribute(std::string_view text) {
  const auto is_name = [](char c) {
    return is_ascii_letter(c) || is_ascii_digit(c) || is_ascii_space(c) || c == '-' || c == '_' || c == ':';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_name);
  return end != text.begin() && end != text.end() && *end == '=';
}

/// The first closing quote before the end or another attribute, since WikiExtractor's titles contain quotes; else the
/// first quote.
std::size_t closing_quote(std::string_view value, char quote) {
  const std::size_t first = value.find(quote);
  for (std::size_t at = first; at != std::string_view::npos; at = value.find(quote, at + 1))
    if (at + 1 == value.size() || begins_attribute(value.substr(at + 1))) return at;
  return first;
}

}  // namespace

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
      value_end = closing_quote(value, quote);
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

}  // namespace quern
