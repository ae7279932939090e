#pragma once
#include <string>

#include "quern/core/error.hpp"
#include "quern/formats/queries/query_file.hpp"

/// Reads query files in memory, named "test.queries" in messages.
namespace quern::testing {

using Queries = std::vector<Query>;

inline QueryFile automatic(std::string_view bytes) {
  return parse_queries(bytes, QueryFormat::automatic, "test.queries");
}

/// The reader's error message for a file; empty if it accepts the file.
inline std::string complaint(std::string_view bytes, const QueryLayout& layout = {}) {
  try {
    parse_queries(bytes, layout, "test.queries");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline std::string repeated_text(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace quern::testing
