#include <cstdlib>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/formats/queries/filter_expression.hpp"

/// Any filter text is refused, or becomes steps that need a stack of the promised size and leave one result.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    const FilterExpression filter = parse_filter({reinterpret_cast<const char*>(data), size});
    std::size_t outcomes = 0;
    for (const FilterStep& step : filter.steps) {
      if (step.kind == FilterStep::Kind::compare) {
        if (step.comparison >= filter.comparisons.size() || ++outcomes > max_filter_outcomes) std::abort();
      } else {
        const std::size_t needed = step.kind == FilterStep::Kind::negate ? 1 : 2;
        if (outcomes < needed) std::abort();
        outcomes -= needed - 1;
      }
    }
    if (outcomes != 1) std::abort();
    for (const FilterComparison& comparison : filter.comparisons)
      if (comparison.texts.empty() != (comparison.op == FilterOperator::exists)) std::abort();
  } catch (const InvalidArgument&) {
  }
  return 0;
}
