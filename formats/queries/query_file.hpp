#pragma once
#include <iterator>

#include "quern/core/named.hpp"
#include "quern/formats/tables/text_lines.hpp"

/// Reads query files in the formats of test collections and logs; see query_file.md.
namespace quern {

struct Query {
  std::string id;    ///< as written but trimmed: "051" keeps its zero
  std::string text;  ///< may be empty; bytes as in the file, valid UTF-8 or not
  bool operator==(const Query&) const = default;
};

/// The formats of query files. `automatic` detects the format. For `vector`, a query's text is the JSON object of terms
/// and weights.
enum class QueryFormat { automatic, trec, webtrack, jsonl, tsv, weighted, colon, lines, vector };

inline constexpr NamedValue<QueryFormat> query_formats[] = {
    {"auto", QueryFormat::automatic}, {"trec", QueryFormat::trec},   {"webtrack", QueryFormat::webtrack},
    {"jsonl", QueryFormat::jsonl},    {"tsv", QueryFormat::tsv},     {"weighted", QueryFormat::weighted},
    {"colon", QueryFormat::colon},    {"lines", QueryFormat::lines}, {"vector", QueryFormat::vector},
};
/// Formats whose queries are text: all but the last.
inline constexpr std::span<const NamedValue<QueryFormat>> text_query_formats(query_formats,
                                                                             std::size(query_formats) - 1);

struct QueryFile {
  std::vector<Query> queries;                   ///< in file order; logs may repeat IDs
  QueryFormat format = QueryFormat::automatic;  ///< never `automatic` after reading
};

/// Limit of a query's text: longer texts aren't queries, and could need any amount of memory.
inline constexpr std::uint64_t max_query_bytes = std::uint64_t{1} << 20;
/// Limit of a line or topic field as written: with escapes, references and other content.
inline constexpr std::uint64_t max_written_bytes = 4 * max_query_bytes;

/// Receives a query's ID and text, as in Query; valid during the call.
using QueryVisitor = std::function<void(std::string_view id, std::string_view text)>;

/// Calls visit(id, text) for the queries in `bytes`, the whole content of a file (decompressed), in the file's order,
/// and returns the file's format. Memory does not grow with the number of queries. If `format` is `automatic`, all
/// lines together decide it, before the first call. Messages call the file `name`. `release`, if given, lets the caller
/// free the text's memory. Throws InvalidArgument for a file without queries and for one whose format can't be decided;
/// CorruptFile, with the line, if the file contradicts its format or has a line or field of more than
/// max_written_bytes, and with the query's id and number, if its text has more than max_query_bytes, after visiting the
/// queries before that line.
QueryFormat for_each_query(std::string_view bytes, QueryFormat format, std::string_view name, const QueryVisitor& visit,
                           const TextRelease& release = {});

/// All queries of a file in memory.
QueryFile parse_queries(std::string_view bytes, QueryFormat format, std::string_view name);

/// Parses queries line by line, for streams that may stay open.
class QueryLineParser {
 public:
  /// `format` must have one query per line and not be `automatic`: only a whole file shows its format. Messages call
  /// the stream `name`. Throws InvalidArgument for other formats.
  QueryLineParser(QueryFormat format, std::string name);
  QueryLineParser(QueryLineParser&&) noexcept;
  ~QueryLineParser();

  /// Parses the next line, without its LF; nullopt if it is blank. Throws CorruptFile, with the line's number, if the
  /// line contradicts the format or has more than max_written_bytes, or the query has more than max_query_bytes.
  std::optional<Query> next(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Queries with weighted terms, as learned sparse retrieval models produce them; see query_file.md.

/// A term of the index, and its weight in place of a frequency.
struct QueryTerm {
  std::string term;
  double weight = 1;
  bool operator==(const QueryTerm&) const = default;
};

/// The terms of a JSON object {"term": weight, …}, in its order. Throws InvalidArgument, with `what`, for other JSON,
/// an empty or repeated term, or a weight that isn't a non-negative number.
std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what);

// Topics between tags: TREC's SGML-like files, where tags are rarely closed, and the web track's XML. One forgiving
// scanner reads both; see section "Topics between tags" of query_file.md.

/// The tags of one kind of topic file.
struct TopicMarkup {
  QueryFormat format;
  std::string_view topic_tag;
  std::string_view id_tag;
  std::vector<std::string_view> id_attributes;   ///< of topic_tag; empty if the ID is only in id_tag
  std::vector<std::string_view> query_tags;      ///< the first of these in a topic contains its query
  std::vector<std::string_view> leading_labels;  ///< in lower case: with a colon, they may open a field
};

/// TREC: <top> <num> Number: 51 <title> Topic: ...
const TopicMarkup& trec_markup();
/// Web track: <topic number="1"> <query>...</query>
const TopicMarkup& webtrack_markup();

/// The markup of a file that begins with a tag and contains topics; null for other files. `release` as in
/// for_each_query().
const TopicMarkup* detect_topic_markup(std::string_view bytes, const TextRelease& release = {});

/// Calls visit(id, text) for all topics of a file. Throws CorruptFile, with the line, if a topic has no ID or a field
/// of more than max_written_bytes, or if the last topic isn't closed but others are. `release` as in for_each_query().
void for_each_topic(std::string_view bytes, const TopicMarkup& markup, std::string_view name, const QueryVisitor& visit,
                    const TextRelease& release = {});

}  // namespace quern
