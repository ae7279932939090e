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

/// A simdjson parser with its buffers, kept from record to record.
struct JsonParser {
  simdjson::dom::parser parser;
  std::string padded;  ///< the text, with the room after it that simdjson reads

  /// The value lives until the parser's next use. Throws std::bad_alloc, after which the parser can't be used any more.
  simdjson::simdjson_result<simdjson::dom::element> parse(std::string_view text) {
    padded.assign(text);
    padded.append(simdjson::SIMDJSON_PADDING, ' ');
    const auto value = parser.parse(padded.data(), text.size(), false);
    if (value.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    return value;
  }

  /// A number's shortest form; nothing where the text is none.
  std::optional<std::string> number_text(std::string_view text);
};

/// A number in its shortest form; empty where the value is none.
std::string number_text(const simdjson::dom::element& value);

// What is wrong with JSON records, whichever way they are read.

/// What becomes of a record that is no JSON object, or has no docno.
ParsedRecord json_is_damaged(const std::string& why);
ParsedRecord json_without_docno(const JsonKeys& keys);
/// What is wrong with a record without weights.
WeightsProblem json_without_weights(const JsonKeys& keys);
/// What becomes of a record whose weights were read: it is bad if something is wrong with them.
ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out);

}  // namespace quern
