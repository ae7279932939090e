#pragma once
#include <string>
#include <vector>

namespace quern {

/// Names that a corpus's fields have, where they are not those that its format knows; empty: these. `kept` are fields
/// whose values are kept with the documents.
struct FieldNames {
  std::string docno, title, text, url;
  std::string vector = {};  ///< the terms' weights, of a corpus that gives them
  std::vector<std::string> kept = {};

  bool operator==(const FieldNames&) const = default;
};

using FieldName = std::string FieldNames::*;  // nvcc puts parentheses around members of such a type that has no name

/// A field's name on the command line and in manifests, its member, and what a document has there, for help.
struct NamedField {
  const char* name;
  FieldName member;
  const char* content;
};
inline constexpr NamedField named_fields[] = {{"id", &FieldNames::docno, "id"},
                                              {"title", &FieldNames::title, "title"},
                                              {"text", &FieldNames::text, "text"},
                                              {"url", &FieldNames::url, "url"},
                                              {"vector", &FieldNames::vector, "weights of terms, with --impacts"}};

}  // namespace quern
