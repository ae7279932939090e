#include "quern/search/query_syntax.hpp"

#include <algorithm>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/// Two quotation marks with something between them.
bool has_phrase(std::string_view text) {
  const std::size_t first = text.find('"');
  if (first == text.npos) return false;
  const std::size_t second = text.find('"', first + 1);
  return second != text.npos && second > first + 1;
}

/// "title:mill", but neither "http://" nor "12:30".
bool is_field(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == word.npos || colon == 0 || colon + 1 == word.size() || word[colon + 1] == '/') return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return is_letter(c) || c == '_'; });
}

/// "+water", "-wind", "mil*", "mill~", "mill^2", but neither "a - b" nor "well-known" nor "1-2".
bool has_mark(std::string_view word) {
  if (word.size() < 2) return false;
  if ((word[0] == '+' || word[0] == '-') && is_letter(word[1])) return true;
  const std::size_t mark = word.find_first_of("*~^", 1);
  return mark != word.npos && is_letter(word[mark - 1]) && (word[mark] == '^' || mark + 1 == word.size());
}

}  // namespace

QuerySyntax syntax_in(std::string_view text) {
  QuerySyntax syntax;
  syntax.phrase = has_phrase(text);
  const bool in_capitals = std::none_of(text.begin(), text.end(), is_small);
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = from;
    while (end < text.size() && !is_ascii_space(text[end])) ++end;
    const std::string_view word = text.substr(from, end - from);
    syntax.operators |= !in_capitals && (word == "AND" || word == "OR" || word == "NOT");
    syntax.field |= is_field(word);
    syntax.marks |= has_mark(word);
    from = end + 1;
  }
  return syntax;
}

}  // namespace quern
