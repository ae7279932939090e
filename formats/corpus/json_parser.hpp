#pragma once
#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

namespace quern {

/// A simdjson parser with its buffers, kept from record to record.
struct JsonParser {
  simdjson::dom::parser parser;
  std::string padded;  ///< the text, with the room after it that simdjson reads

  /// The value lives until the parser's next use.
  simdjson::simdjson_result<simdjson::dom::element> parse(std::string_view text) {
    padded.assign(text);
    padded.append(simdjson::SIMDJSON_PADDING, ' ');
    return parser.parse(padded.data(), text.size(), false);
  }

  /// A number's shortest form; nothing where the text is none.
  std::optional<std::string> number_text(std::string_view text);
};

/// A number in its shortest form; empty where the value is none.
std::string number_text(const simdjson::dom::element& value);

}  // namespace quern
