#pragma once
#include <simdjson.h>

#include "quern/formats/queries/query_file.hpp"

namespace quern {

/// Reads queries from JSON objects; see query_file.md.
class JsonQueries {
 public:
  /// The layout must outlive the object. Messages call the file `name`.
  JsonQueries(const QueryLayout& layout, std::string_view name);

  struct Parts {
    std::string_view id, text;
  };
  /// The query of an object, valid until the next call. A weighted query's text is the JSON object of weights. Throws
  /// CorruptFile, with the line's `number`, for other JSON, an object without id or query, and wrong types.
  Parts read(std::string_view json, std::uint64_t number);

 private:
  simdjson::dom::object parse(std::string_view line, std::uint64_t number);
  std::string_view id_of(const simdjson::dom::object& object, std::uint64_t number);
  [[noreturn]] void refuse_without_text(const simdjson::dom::object& object, std::uint64_t number);
  /// Appends the text of a key; false if the object lacks it.
  bool take_text(const simdjson::dom::object& object, std::string_view key, std::uint64_t number);
  void take_vector(const simdjson::dom::object& object, std::uint64_t number);

  const bool is_vector_;
  std::vector<std::string_view> id_keys_, text_keys_;
  const bool joins_texts_;
  std::string_view name_;
  std::string number_id_, text_;
  simdjson::dom::parser parser_;
};

}  // namespace quern
