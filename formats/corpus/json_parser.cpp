#include "quern/formats/corpus/json_parser.hpp"

#include <charconv>

namespace quern {

std::optional<std::string> JsonParser::number_text(std::string_view text) {
  simdjson::dom::element value;
  if (parse(text).get(value) != simdjson::SUCCESS || !value.is_number()) return std::nullopt;
  return quern::number_text(value);
}

std::string number_text(const simdjson::dom::element& value) {
  char digits[32];
  std::to_chars_result result{digits, std::errc()};
  if (value.is_int64()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_int64().value_unsafe());
  } else if (value.is_uint64()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_uint64().value_unsafe());
  } else if (value.is_double()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_double().value_unsafe());
  }
  return std::string(digits, result.ptr);
}

}  // namespace quern
