#pragma once
#include <cstdint>
#include <string_view>
#include <variant>

namespace quern::api {

/// A value that is kept with a document: a text of at most 255 bytes of UTF-8 (what is not is repaired), a number,
/// which is kept as a double, or a boolean.
using KeptValue = std::variant<std::string_view, double, std::int64_t, bool>;

/// A document's value of a kept field.
struct KeptField {
  std::string_view name;  ///< one of IndexOptions::keep_fields
  KeptValue value;
};

}  // namespace quern::api
