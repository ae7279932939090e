#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Reads files of queries in all the forms that test collections and logs come in; see query_file.md.
namespace quern {

struct Query {
  std::string id;    ///< as written but trimmed: "051" keeps its zero
  std::string text;  ///< may be empty; bytes as in the file, valid UTF-8 or not
  bool operator==(const Query&) const = default;
};

struct QueryFile {
  std::vector<Query> queries;  ///< in the file's order; an id may come more than once, as in logs
  std::string form;            ///< the form's name, never "auto"
};

/// Names of the forms, as --queries-format takes them; "auto" comes first.
const std::vector<std::string_view>& query_file_forms();

/// The queries in `bytes`, the whole content of a file (decompressed). `form` is one of query_file_forms();
/// with "auto" it is found from all lines together. `name` is what messages call the file. Throws
/// InvalidArgument for an unknown form, for a file without queries, and where "auto" can't decide;
/// CorruptFile, with the line, where the file contradicts its form.
QueryFile parse_queries(std::string_view bytes, std::string_view form, std::string_view name);

}  // namespace quern
