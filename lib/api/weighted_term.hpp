#pragma once
#include <string_view>

namespace quern::api {

/// A term as an index has it, and its weight in a document or a query.
struct WeightedTerm {
  std::string_view term;  ///< 1 to 255 bytes of UTF-8
  double weight = 0;
};

}  // namespace quern::api
