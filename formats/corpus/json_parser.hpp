#pragma once
#include <simdjson.h>

#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/json_fields.hpp"

namespace quern {

/// A simdjson parser with its buffers, reused from record to record.
struct JsonParser {
  simdjson::dom::parser parser;
  std::string padded;  ///< the text and simdjson's padding

  /// The value is valid until the parser's next use. Throws std::bad_alloc; the parser is then unusable.
  simdjson::simdjson_result<simdjson::dom::element> parse(std::string_view text) {
    padded.assign(text);
    padded.append(simdjson::SIMDJSON_PADDING, ' ');
    const auto value = parser.parse(padded.data(), text.size(), false);
    if (value.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    return value;
  }

  /// A number in its shortest form; nullopt if the text isn't a number.
  std::optional<std::string> number_text(std::string_view text);
};

/// A number in its shortest form; empty if the value isn't a number.
std::string number_text(const simdjson::dom::element& value);

// Errors of JSON records, common to both readers.

/// A record that isn't a JSON object, or has no docno.
ParsedRecord json_is_damaged(const std::string& why);
ParsedRecord json_without_docno(const JsonKeys& keys);
/// The error of a record without weights.
WeightsProblem json_without_weights(const JsonKeys& keys);
/// The result for a record with weights: bad if `problem` is set.
ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out);

}  // namespace quern
