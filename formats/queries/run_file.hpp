#pragma once
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/snippet.hpp"

/// Ranked results as text: written in several formats, and TREC's read back; see run_file.md.
namespace quern {

/// A named field of a result.
struct ResultField {
  std::string_view name;
  FieldValue value;
  bool is_snippet = false;
  std::span<const TextPlace> matches;  ///< in a snippet: the words that match the query
};

/// One result of a query; results come in rank order, best first.
struct RunResult {
  std::string_view docno;
  float score = 0;
  std::string_view title;  ///< empty if there is none or the format doesn't show it
  std::string_view url;
  std::optional<std::span<const ResultField>> fields = std::nullopt;  ///< in place of title and URL, if given
};

/// Whether a query's results are exact although its search may have stopped early.
struct ResultProof {
  /// Upper bound of the scores of documents that were left out and may be results; none: the results are exact.
  std::optional<float> bound_left;
};

/// Results of a query in rank order: all of them, or one piece of many.
struct ResultPiece {
  std::span<const RunResult> results;
  std::size_t first_rank = 1;                       ///< of results.front()
  bool is_first = true, is_last = true;             ///< among the query's pieces
  bool on_terminal = false;                         ///< the text table shows matches in bold
  std::optional<ResultProof> proof = std::nullopt;  ///< set if the search had a budget
};

/// Appends one query's results as a table for a terminal of 100 columns: the query, then a line per result with rank,
/// score, docno and title in columns, its URL below, then the other requested fields. Titles are cut to the line,
/// docnos and URLs never. Control characters are removed, and invalid UTF-8 becomes U+FFFD. Each piece sets its own
/// column widths.
void append_results_table(std::string& out, std::string_view qid, std::string_view query_text,
                          const ResultPiece& piece);

/// An output format. Its functions append to `out`, which the caller may write out and clear in between.
struct RunFormat {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  bool shows_titles;             ///< it uses titles, URLs and fields; if not, the caller needn't fetch them
  /// Appends the lines of a piece of a query's results. `tag` names the run, in formats with a column for it.
  void (*append_piece)(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                       std::string_view tag);
  /// Appends the lines of one query.
  void append(std::string& out, std::string_view qid, std::string_view query_text, std::span<const RunResult> results,
              std::string_view tag) const {
    append_piece(out, qid, query_text, {results}, tag);
  }
};

/// All formats, in the order of help texts; the first, "trec", is the default. Add new ones here only.
std::span<const RunFormat> all_run_formats();

/// Throws InvalidArgument, with all names, if no format has that name.
const RunFormat& run_format_named(std::string_view name);

/// Appends a line of a TREC run whose score is the shortest decimal that reads back as the same float64.
void append_trec_line(std::string& out, std::string_view qid, std::string_view docno, std::uint64_t rank, double score,
                      std::string_view tag);

/// A line of a run, as views of the line.
struct RunLineText {
  std::string_view qid, docno;
  double rank = 0;          ///< other programs write -1 and 1.0
  bool has_score = true;    ///< MS MARCO's runs have only ranks: the scores are these, negated
  float score = 0;          ///< the nearest float32
  double double_score = 0;  ///< the nearest float64
  std::string_view tag;
};

/// Which runs a reader takes.
enum class RunScores {
  required,  ///< TREC runs
  or_ranks,  ///< also those of MS MARCO, which the first line shows
};

/// Calls visit(line, line number) for the lines of a run of any size, in file order: columns separated by white space,
/// "qid Q0 docno rank score tag", the second one ignored, or "qid docno rank". Lines that begin with # are comments.
/// Only one line is in memory. Throws CorruptFile, with the line and what it seems to be, if columns are missing, the
/// rank isn't whole (in MS MARCO's runs from 1 to 2^32 - 1), the score isn't a number, or the line has more than 1 MiB.
void read_run(ByteSource& source, const std::function<void(const RunLineText&, std::uint64_t)>& visit,
              RunScores scores = RunScores::required);

// Relevance judgements; see qrels.md.

/// A judgement as views of a line.
struct JudgementLine {
  std::string_view qid, docno;
  std::int32_t relevance = 0;  ///< 0 and below: judged, not relevant
};

/// Calls visit(judgement, line number) for the judgements of a file of any size, in its order: TREC's "qid 0 docno
/// rel", or BEIR's three columns with a heading. Lines that begin with # are comments. Only one line is in memory.
/// Throws CorruptFile, with the line and what it seems to be, if it has more or fewer columns, the relevance isn't an
/// integer, or the line has more than 1 MiB.
void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit);

/// What a line of these files is, "a run, …" or "judgements (qrels), …", with its columns; empty for other lines.
std::string_view kind_of_row(std::string_view line);

// Feature files with a document per line, as ranker training programs read them; see letor_file.md.

/// A document of a topic with its label and features.
struct LetorRow {
  std::int32_t label = 0;
  std::string_view qid, docno;
  FeatureColumns features;
  std::size_t row = 0;  ///< index in `features`

  float value(std::size_t feature) const { return features.column(static_cast<std::uint32_t>(feature))[row]; }
};

/// "label qid:ID 1:value 2:value … # docno", the features numbered from 1, zeros included; a value is the shortest text
/// that reads back as the same float32. Ends with a line break.
std::string letor_line(const LetorRow& row, std::size_t num_features);

/// The row as a JSON object on one line, with feature names.
std::string letor_json(const LetorRow& row, std::span<const std::string> names);

}  // namespace quern
