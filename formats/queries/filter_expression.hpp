#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Filters as users write them: which documents may be results. See filter.md.
namespace quern {

/// How a document's value is compared with those that a filter names.
enum class FilterOperator : std::uint8_t { equal, less, less_or_equal, greater, greater_or_equal, prefix, exists };

/// A value in a filter.
struct FilterValue {
  std::string text;              ///< without quotes and escapes
  std::optional<double> number;  ///< if it is written as one, without quotes
  std::optional<bool> boolean;   ///< the same
};

/// A field of documents, compared with values: it holds if it does for one of them.
struct FilterComparison {
  std::string field;
  FilterOperator op = FilterOperator::equal;
  std::vector<FilterValue> values;  ///< none for `exists`, several for `in`, which is `equal`
  std::size_t position = 0;         ///< of the field in the filter's text, counted from 1
};

/// A step of an expression in postfix order: puts a comparison's outcome on a stack, or combines the last ones.
struct FilterStep {
  enum class Kind : std::uint8_t { compare, negate, both, either };
  Kind kind = Kind::compare;
  std::uint32_t comparison = 0;  ///< its number
};

struct FilterExpression {
  std::vector<FilterComparison> comparisons;
  std::vector<FilterStep> steps;  ///< at most max_filter_outcomes are on the stack at a time
};

/// A filter's text has at most so many bytes, and so many parentheses and negations in each other.
inline constexpr std::size_t max_filter_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_filter_depth = 30;
/// In each of these, a left side of `or` and one of `and` may wait for their right sides.
inline constexpr std::size_t max_filter_outcomes = 2 * max_filter_depth + 1;

/// Throws InvalidArgument, with the place and what is expected there, if the text is not a filter.
FilterExpression parse_filter(std::string_view text);

}  // namespace quern
