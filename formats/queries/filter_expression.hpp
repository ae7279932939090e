#pragma once
#include "quern/core/types.hpp"

/// Filter expressions: which documents may be results. See filter.md.
namespace quern {

/// Comparison of a document's value with a filter's values.
enum class FilterOperator : std::uint8_t { equal, less, less_or_equal, greater, greater_or_equal, prefix, exists };

/// Compares a field with values; true if one of them matches. Several values are only for `equal`, none for `exists`.
struct FilterComparison {
  std::string field;
  FilterOperator op = FilterOperator::equal;
  std::vector<std::string> texts;            ///< the values without quotes and escapes, ascending
  std::vector<double> numbers;               ///< the unquoted values that are numbers, ascending; they may be infinite
  bool has_true = false, has_false = false;  ///< whether one of the values is this unquoted boolean
  std::size_t position = 0;                  ///< the field's position in the filter, from 1
};

/// A step of an expression in postfix order: pushes a comparison's outcome on a stack, or combines the last outcomes.
struct FilterStep {
  enum class Kind : std::uint8_t { compare, negate, both, either };
  Kind kind = Kind::compare;
  std::uint32_t comparison = 0;  ///< index of the comparison
};

struct FilterExpression {
  std::vector<FilterComparison> comparisons;
  std::vector<FilterStep> steps;  ///< need at most max_filter_outcomes on the stack
};

/// Limits of a filter's length in bytes and of its nesting of parentheses and negations.
inline constexpr std::size_t max_filter_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_filter_depth = 30;
/// At each level and outside of all, a left side of `or` and one of `and` may wait for their right sides.
inline constexpr std::size_t max_filter_outcomes = 2 * (max_filter_depth + 1) + 1;

/// Throws InvalidArgument, with the position and what was expected there, if the text isn't a filter.
FilterExpression parse_filter(std::string_view text);

}  // namespace quern
