#include "quern/formats/rankers/expression.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quern/formats/rankers/json_events.hpp"

namespace quern {
namespace {

/// Limit of open parentheses, functions and signs, since the parser recurses.
constexpr unsigned max_nesting = 100;

/// sum: product, then + or - and a product, …      product: factor, then * or / and a factor, …
/// factor: number | feature | - factor | (sum) | function(sum) | function(sum, sum)
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const std::string& place,
                   const std::function<std::uint32_t(std::string_view)>& number_of)
      : text_(text), place_(place), number_of_(number_of) {}

  std::vector<ExpressionStep> read() {
    next();
    read_sum();
    if (!token_.empty()) fail(fmt::format("unexpected '{:.40}' after the expression", token_));
    if (std::ranges::none_of(steps_, [](const ExpressionStep& step) { return step.code == ExpressionCode::feature; }))
      fail("an expression needs a feature");
    if (!is_valid(steps_))
      fail(fmt::format("an expression has at most {} numbers, features and operations, and {} intermediate values",
                       max_expression_steps, max_expression_values));
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: {}", place_, why); }

  static bool is_mark(char c) { return std::string_view("+-*/(),").find(c) != std::string_view::npos; }

  /// Moves to the next token: a mark, a number or a name; empty at the end. The sign of an exponent is part of a
  /// number.
  void next() {
    text_ = trim(text_);
    std::size_t size = 0;
    const bool is_number = !text_.empty() && (is_ascii_digit(text_.front()) || text_.front() == '.');
    for (; size < text_.size() && !is_ascii_space(text_[size]); ++size) {
      const bool is_exponent = is_number && size > 0 && (text_[size - 1] == 'e' || text_[size - 1] == 'E');
      if (is_mark(text_[size]) && !(is_exponent && (text_[size] == '-' || text_[size] == '+'))) break;
    }
    token_ = text_.substr(0, size == 0 ? std::min<std::size_t>(1, text_.size()) : size);
    text_.remove_prefix(token_.size());
  }

  bool take(std::string_view mark) {
    if (token_ != mark) return false;
    next();
    return true;
  }

  void add(ExpressionCode code) { steps_.push_back({code}); }

  void read_sum() {
    read_chain(&ExpressionReader::read_product, "+", ExpressionCode::add, "-", ExpressionCode::subtract);
  }
  void read_product() {
    read_chain(&ExpressionReader::read_factor, "*", ExpressionCode::multiply, "/", ExpressionCode::divide);
  }

  /// Reads operands between operators of one precedence, from left to right.
  void read_chain(void (ExpressionReader::*read_operand)(), std::string_view mark, ExpressionCode code,
                  std::string_view other_mark, ExpressionCode other_code) {
    (this->*read_operand)();
    for (;;) {
      const bool is_first = token_ == mark;
      if (!is_first && token_ != other_mark) return;
      next();
      (this->*read_operand)();
      add(is_first ? code : other_code);
    }
  }

  void read_factor() {
    if (++nesting_ > max_nesting) fail("has too many parentheses or signs within each other");
    if (take("-")) {
      read_factor();
      add(ExpressionCode::negate);
    } else if (take("(")) {
      read_sum();
      if (!take(")")) fail_at_token("')'");
    } else {
      read_word();
    }
    --nesting_;
  }

  void read_word() {
    if (token_.empty() || is_mark(token_.front())) fail_at_token("a number, a feature or a function");
    const std::string_view word = token_;
    next();
    if (take("(")) return read_function(word);
    ExpressionStep step;
    if (is_ascii_digit(word.front()) || word.front() == '.') {
      if (!read_number(word, step.number) || !std::isfinite(step.number))
        fail(fmt::format("'{:.40}' is not a finite number", word));
    } else {
      step = {ExpressionCode::feature, number_of_(word)};
    }
    steps_.push_back(step);
  }

  /// Reads the arguments of a function.
  void read_function(std::string_view name) {
    const auto found = std::ranges::find(expression_functions, name, &NamedValue<ExpressionCode>::name);
    if (found == std::end(expression_functions)) {
      std::string names;
      for (const auto& function : expression_functions) names.append(names.empty() ? "" : ", ").append(function.name);
      fail(fmt::format("unknown function '{:.40}': use one of {}", name, names));
    }
    read_sum();
    for (unsigned argument = 1; argument < operands_of(found->value); ++argument) {
      if (!take(",")) fail_at_token("','");
      read_sum();
    }
    if (!take(")")) fail_at_token("')'");
    add(found->value);
  }

  [[noreturn]] void fail_at_token(std::string_view expected) const {
    fail(token_.empty() ? fmt::format("ends where {} was expected", expected)
                        : fmt::format("found '{:.40}' where {} was expected", token_, expected));
  }

  std::string_view text_, token_;
  const std::string& place_;
  const std::function<std::uint32_t(std::string_view)>& number_of_;
  std::vector<ExpressionStep> steps_;
  unsigned nesting_ = 0;
};

}  // namespace

std::vector<ExpressionStep> read_expression(std::string_view text, const std::string& place,
                                            const std::function<std::uint32_t(std::string_view)>& number_of) {
  return ExpressionReader(text, place, number_of).read();
}

}  // namespace quern
