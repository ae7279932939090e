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

/// Limit of a query's text: longer texts aren't queries, and could need any amount of memory.
inline constexpr std::uint64_t max_query_bytes = std::uint64_t{64} << 20;

/// How to read a query file.
struct QueryLayout {
  // Implicit, since a format alone is enough for most files.
  QueryLayout(QueryFormat named = QueryFormat::automatic) : format(named) {}  // NOLINT(google-explicit-constructor)

  QueryFormat format;
  /// Key of JSON objects, tag or attribute of topics that contains the id; empty: the usual ones.
  std::string id_field = {};
  /// Keys or tags whose texts, joined by spaces, are the query; none: the usual ones. For vectors: the vector's key.
  std::vector<std::string> text_fields = {};
  /// Limit of a query's text and id, at most max_query_bytes.
  std::uint64_t max_bytes = max_query_bytes;

  bool names_fields() const { return !id_field.empty() || !text_fields.empty(); }
  /// Limit of a line, JSON object or topic field as written: with escapes, references and other content.
  std::uint64_t max_written_bytes() const { return 2 * max_bytes; }
  /// Lowers the limits to what fits in the memory: a query's words take 16 times the bytes of its text.
  void limit_memory(std::uint64_t memory_bytes) {
    max_bytes = std::clamp<std::uint64_t>(memory_bytes / 16, std::uint64_t{1} << 20, max_query_bytes);
  }
};

struct QueryFile {
  std::vector<Query> queries;                   ///< in file order; logs may repeat IDs
  QueryFormat format = QueryFormat::automatic;  ///< never `automatic` after reading
};

/// Receives a query's ID and text, as in Query; valid during the call.
using QueryVisitor = std::function<void(std::string_view id, std::string_view text)>;

/// Calls visit(id, text) for the queries in `bytes`, the whole content of a file (decompressed), in the file's order,
/// and returns the file's format. Memory does not grow with the number of queries. If the layout's format is
/// `automatic`, all lines together decide it, before the first call. Messages call the file `name`. `release`, if
/// given, lets the caller free the text's memory. Throws InvalidArgument for a file without queries, for one whose
/// format can't be decided and for fields of a format that has none; CorruptFile, with the line, if the file
/// contradicts its format or has a line or field of more than max_written_bytes(), and with the query's id and number,
/// if its text has more than max_query_bytes, after visiting the queries before that line.
QueryFormat for_each_query(std::string_view bytes, const QueryLayout& layout, std::string_view name,
                           const QueryVisitor& visit, const TextRelease& release = {});

/// All queries of a file in memory.
QueryFile parse_queries(std::string_view bytes, const QueryLayout& layout, std::string_view name);

/// Limits of a file of queries. A JSON array may be one line; queries themselves have a limit of their own.
inline ReadLimits query_file_limits() { return ReadLimits(std::uint64_t{8} << 30, std::uint64_t{1} << 30); }

/// All queries of a file, plain or compressed; "-" is standard input. Throws like parse_queries() and read_whole().
QueryFile read_queries(const std::string& path, const QueryLayout& layout);

/// Parses queries line by line, for streams that may stay open.
class QueryLineParser {
 public:
  /// The format must have one query per line and not be `automatic`: only a whole file shows its format. Messages call
  /// the stream `name`. Throws InvalidArgument for other formats, and for fields of a format that has none.
  QueryLineParser(QueryLayout layout, std::string name);
  QueryLineParser(QueryLineParser&&) noexcept;
  ~QueryLineParser();

  /// Parses the next line, without its LF; nullopt if it is blank. Throws CorruptFile, with the line's number, if the
  /// line contradicts the format or has more than max_line_bytes(), or the query has more than the layout's max_bytes.
  std::optional<Query> next(std::string_view line);
  std::uint64_t max_line_bytes() const;

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

// Topics between tags: TREC's SGML-like files, where tags are rarely closed, and XML. One forgiving scanner reads both;
// see section "Topics between tags" of query_file.md.

/// The tag around each topic of a file.
struct TopicMarkup {
  QueryFormat format;
  std::string_view topic_tag;
};

/// What exceeds a limit of `bytes`, and the remedy.
std::string beyond_limit(const QueryLayout& layout, std::uint64_t bytes);

/// The markup of the first topic in a file of `format`, or with `automatic` of any; null for files without topics.
/// `release` as in for_each_query().
const TopicMarkup* find_topic_markup(std::string_view bytes, QueryFormat format, const TextRelease& release = {});

/// Calls visit(id, text) for all topics of a file. Throws CorruptFile, with the line, if a topic has no id, no query or
/// a field of more than max_written_bytes(), or if the last topic isn't closed but others are. `release` as in
/// for_each_query().
void for_each_topic(std::string_view bytes, const TopicMarkup& markup, const QueryLayout& layout, std::string_view name,
                    const QueryVisitor& visit, const TextRelease& release = {});

}  // namespace quern
