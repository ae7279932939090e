#include "quern/formats/corpus/json_parser.hpp"

#include <charconv>

#include "quern/formats/corpus/document_fields.hpp"

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

ParsedRecord json_is_damaged(const std::string& why) { return bad_record("it is not a JSON object: " + why); }

ParsedRecord json_without_docno(const JsonKeys& keys) {
  const std::string names = keys.names_of(JsonField::docno, ", ");
  return bad_record(std::string("it has no docno: ") +
                    (names.find(',') == std::string::npos ? "no key " : "none of the keys ") + names);
}

WeightsProblem json_without_weights(const JsonKeys& keys) {
  return {"it has no object with term weights under the key " + keys.names_of(JsonField::weights, ", ")};
}

ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out) {
  if (problem.why.empty()) return {};
  ParsedRecord record = bad_record("document " + out.docno + ": " + problem.why);
  record.needs_options = problem.needs_options;
  return record;
}

}  // namespace quern
