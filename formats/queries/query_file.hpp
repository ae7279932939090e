#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Reads query files in the formats of test collections and logs; see query_file.md.
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

/// Takes a query: its id and its text, as Query says. They are valid during the call.
using QueryVisitor = std::function<void(std::string_view id, std::string_view text)>;

/// Called with text that a pass no longer needs: pieces from the front on, in order. Another pass may follow.
using TextRelease = std::function<void(std::string_view piece)>;

/// Calls visit(id, text) for the queries in `bytes`, the whole content of a file (decompressed), in the file's order;
/// gives the form's name, never "auto". Memory does not grow with the number of queries. `form` is one of
/// query_file_forms(); with "auto" it is found from all lines together, before the first call. `name` is what messages
/// call the file. `release`, if given, lets the caller free the text's memory. Throws InvalidArgument for an
/// unknown form, for a file without queries, and where "auto" can't decide; CorruptFile, with the line, where the file
/// contradicts its form, when the queries before have been visited.
std::string_view for_each_query(std::string_view bytes, std::string_view form, std::string_view name,
                                const QueryVisitor& visit, const TextRelease& release = {});

/// The same queries all at once.
QueryFile parse_queries(std::string_view bytes, std::string_view form, std::string_view name);

/// Takes queries that come line by line, for streams whose end nobody waits for.
class QueryLineParser {
 public:
  /// `form` is one with a query a line; it must be named, since only a whole file tells its form. `name` is what
  /// messages call the stream. Throws InvalidArgument for another form.
  QueryLineParser(std::string_view form, std::string name);
  QueryLineParser(QueryLineParser&&) noexcept;
  ~QueryLineParser();

  /// The query of the next line, which comes without its LF; none if it is blank. Throws CorruptFile, with the
  /// line's number, where the line contradicts the form.
  std::optional<Query> next(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern
