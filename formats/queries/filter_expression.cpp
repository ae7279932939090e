#include "quern/formats/queries/filter_expression.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "quern/text/field_value.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

struct Symbol {
  std::string_view text;
  FilterOperator op;
  bool negated;
};
/// Longer operators first: others are prefixes of them.
constexpr Symbol operators[] = {
    {"!=", FilterOperator::equal, true},
    {"<=", FilterOperator::less_or_equal, false},
    {">=", FilterOperator::greater_or_equal, false},
    {"^=", FilterOperator::prefix, false},
    {"=", FilterOperator::equal, false},
    {"<", FilterOperator::less, false},
    {">", FilterOperator::greater, false},
};

bool ends_value(char c) { return is_ascii_space(c) || c == '(' || c == ')' || c == ',' || c == '"' || c == '\''; }

/// The float64 nearest to a number, which may be infinite; none if the word isn't a number.
std::optional<double> filter_number(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return {};
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(word).c_str(), nullptr);
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// A recursive descent parser of limited depth.
class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  FilterExpression parse() {
    parse_either();
    if (!at_end()) fail("expected 'and', 'or' or the end");
    return std::move(expression_);
  }

 private:
  bool at_end() {
    while (at_ < text_.size() && is_ascii_space(text_[at_])) ++at_;
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view next_name() {
    if (at_end()) return {};
    std::size_t end = at_;
    while (end < text_.size() && is_field_name_byte(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    if (next_name() != word) return false;
    at_ += word.size();
    return true;
  }
  [[noreturn]] void fail(std::string_view why) {
    const bool ended = at_end();
    constexpr std::size_t shown_bytes = 20;
    throw InvalidArgument("filter, {}: {}",
                          ended ? std::string("at its end")
                                : fmt::format("at byte {}, {}", at_ + 1, quoted_start(text_.substr(at_), shown_bytes)),
                          why);
  }

  void put(FilterStep::Kind kind) { expression_.steps.push_back({kind, 0}); }

  void parse_either() {
    parse_both();
    while (take_word("or")) {
      parse_both();
      put(FilterStep::Kind::either);
    }
  }
  void parse_both() {
    parse_one();
    while (take_word("and")) {
      parse_one();
      put(FilterStep::Kind::both);
    }
  }
  void parse_one() {
    if (take_word("not")) {
      enter();
      parse_one();
      put(FilterStep::Kind::negate);
    } else if (take('(')) {
      enter();
      parse_either();
      if (!take(')')) fail("expected ')', 'and' or 'or'");
    } else {
      return parse_comparison();
    }
    --depth_;
  }
  void enter() {
    if (++depth_ > max_filter_depth)
      fail(fmt::format("parentheses and 'not' are nested more than {} deep", max_filter_depth));
  }

  std::string_view take_field() {
    const std::string_view name = next_name();
    if (name.empty() || is_filter_word(name)) fail("expected a field name, as in lang=en");
    at_ += name.size();
    return name;
  }

  void parse_comparison() {
    FilterComparison comparison;
    const bool has = take_word("has");
    at_end();
    comparison.position = at_ + 1;
    comparison.field = take_field();
    bool negated = false;
    if (has) {
      comparison.op = FilterOperator::exists;
    } else if (take_word("in")) {
      take_list(comparison);
    } else {
      negated = take_operator(comparison.op);
      take_value(comparison);
    }
    expression_.steps.push_back(
        {FilterStep::Kind::compare, static_cast<std::uint32_t>(expression_.comparisons.size())});
    expression_.comparisons.push_back(std::move(comparison));
    if (negated) put(FilterStep::Kind::negate);
  }

  /// Returns whether to negate the comparison.
  bool take_operator(FilterOperator& op) {
    at_end();
    for (const Symbol& symbol : operators) {
      if (!text_.substr(at_).starts_with(symbol.text)) continue;
      at_ += symbol.text.size();
      op = symbol.op;
      return symbol.negated;
    }
    fail("expected one of = != < <= > >= ^= or 'in (' after the field name");
  }

  void take_list(FilterComparison& comparison) {
    if (!take('(')) fail("expected '(' after 'in'");
    do take_value(comparison);
    while (take(','));
    if (!take(')')) fail("expected ',' or ')' in the list of values");
    std::sort(comparison.texts.begin(), comparison.texts.end());
    std::sort(comparison.numbers.begin(), comparison.numbers.end());
  }

  void take_value(FilterComparison& comparison) {
    if (at_end()) fail("expected a value");
    if (text_[at_] == '"' || text_[at_] == '\'') return comparison.texts.push_back(take_quoted());
    std::size_t end = at_;
    while (end < text_.size() && !ends_value(text_[end])) ++end;
    if (end == at_) fail("expected a value; put it in quotes if it contains other characters");
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.find_first_of("=<>") == 0)
      fail("a value that begins with =, < or > needs quotes; the operators are = != < <= > >= ^=");
    comparison.texts.emplace_back(word);
    if (const auto number = filter_number(word)) comparison.numbers.push_back(*number);
    comparison.has_true |= word == "true";
    comparison.has_false |= word == "false";
    at_ = end;
  }

  std::string take_quoted() {
    const std::size_t begin = at_;
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      value += text_[at_++];
    }
    if (at_ == text_.size()) {
      at_ = begin;
      fail("unterminated quote");
    }
    ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0, depth_ = 0;
  FilterExpression expression_;
};

}  // namespace

FilterExpression parse_filter(std::string_view text) {
  if (text.size() > max_filter_bytes)
    throw InvalidArgument("filter: it has {} bytes; the limit is {}", text.size(), max_filter_bytes);
  return FilterParser(text).parse();
}

}  // namespace quern
