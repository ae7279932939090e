#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/io/byte_source.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/snippet.hpp"

/// Ranked results as text: written in several formats, and TREC's read back; see run_file.md.
namespace quern {

/// What is shown of a result under a name.
struct ResultField {
  std::string_view name;
  FieldValue value;
  bool is_snippet = false;
  std::span<const TextPlace> matches;  ///< in a snippet: the words that a query finds
};

/// One result of a query; results are handed over in rank order, best first.
struct RunResult {
  std::string_view docno;
  float score = 0;
  std::string_view title;  ///< empty if there is none or the format doesn't show it
  std::string_view url;
  std::optional<std::span<const ResultField>> fields = std::nullopt;  ///< in place of title and URL, if given
};

/// Results of a query in rank order: all of them, or where there are many, one piece after another.
struct ResultPiece {
  std::span<const RunResult> results;
  std::size_t first_rank = 1;            ///< of results.front()
  bool is_first = true, is_last = true;  ///< of the query's pieces
  bool on_terminal = false;              ///< the format for people shows matches in bold
};

/// Appends one query's results for people, for a terminal of 100 columns: the query, then a line per result with rank,
/// score, docno and title in columns, its URL below, then other fields that were asked for. Titles are cut to the line,
/// docnos and URLs never. What a terminal would obey (control characters) is left out, and what is not UTF-8 shows as
/// U+FFFD. Each piece has columns of its own width.
void append_results_table(std::string& out, std::string_view qid, std::string_view query_text,
                          const ResultPiece& piece);

/// An output format. begin(), then append() for each query, or append_piece() for each piece of its results, then
/// end(): each adds to `out`, which the caller may write away and clear in between. Formats hold no state, so one
/// object serves all threads.
class RunFormat {
 public:
  virtual ~RunFormat() = default;
  virtual std::string_view name() const = 0;
  /// One line for help texts.
  virtual std::string_view description() const = 0;
  /// Whether append() uses titles, URLs and fields; if not, the caller need not fetch them.
  virtual bool shows_titles() const = 0;
  /// What comes before the first query.
  virtual void begin(std::string&) const {}
  /// The lines of one query. `tag` names the run, for the formats that have a column for it.
  void append(std::string& out, std::string_view qid, std::string_view query_text, std::span<const RunResult> results,
              std::string_view tag) const {
    append_piece(out, qid, query_text, {results}, tag);
  }
  /// The lines of a piece of a query's results.
  virtual void append_piece(std::string& out, std::string_view qid, std::string_view query_text,
                            const ResultPiece& piece, std::string_view tag) const = 0;
  /// What comes after the last query.
  virtual void end(std::string&) const {}
};

/// All formats, in the order in which help texts show them; the first, "trec", is the default. The one place to add
/// one.
const std::vector<const RunFormat*>& all_run_formats();

/// Throws InvalidArgument, with all names, if no format has that name.
const RunFormat& run_format_named(std::string_view name);

/// A line of a TREC run.
struct RunLine {
  std::string qid;
  std::string docno;
  std::uint32_t rank = 0;
  float score = 0;
  std::string tag;
  bool operator==(const RunLine&) const = default;
};

/// The lines of a TREC run, in the file's order: columns parted by any white space, the second one ignored.
/// Throws CorruptFile, with the line, if columns are missing or rank or score is not a number.
std::vector<RunLine> parse_run(std::string_view bytes, std::string_view name);

/// A line of a TREC run as it lies in a file.
struct RunLineText {
  std::string_view qid, docno;
  std::uint32_t rank = 0;
  float score = 0;
  std::string_view tag;
};

/// Calls visit(line, its number) for the lines of a TREC run of any size, in the file's order: a line is in memory at a
/// time. Throws what parse_run() throws, and CorruptFile if a line has more than 1 MiB.
void read_run(ByteSource& source, const std::function<void(const RunLineText&, std::uint64_t)>& visit);

}  // namespace quern
