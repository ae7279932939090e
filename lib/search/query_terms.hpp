#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/scratch_memory.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/text/analyzer.hpp"

/// Queries as all engines take them: distinct terms, in rising order, each with the weight n_t that the query gives it.
namespace quern {

using QueryTerms = std::vector<QueryTerm>;
using QueryView = std::span<const QueryTerm>;

/// How a query is written: as text, which the index's analyzer makes terms of, or as a JSON object of terms, as the
/// index has them, and their weights (parse_query_vector()).
enum class QueryKind : std::uint8_t { text, vector };

/// The range of weights of terms in queries, and of scales. With them, no number on the way to a score leaves the range
/// of normal float32 numbers.
inline constexpr double min_query_weight = 1e-9, max_query_weight = 1e9;
/// Integers below it are exact in float32.
inline constexpr double max_exact_sum = 0x1p24;

/// How the weights of a vector become those of scores.
struct QueryWeights {
  bool whole = false;           ///< scores are sums of integers, and so are weights
  std::optional<double> scale;  ///< weights are multiplied by it and rounded, but not to 0; none: they must be whole
};

/// The terms of a text; each occurrence weighs 1.
QueryTerms terms_of_text(std::string_view text, Analyzer& analyzer);

/// A query for messages: its terms, with white space between them.
std::string text_of_terms(QueryView query);

/// Many queries that were read.
class ParsedQueries {
 public:
  /// Those that read_one(i) returns for i < count, read on `threads` threads.
  ParsedQueries(std::size_t count, unsigned threads, const std::function<QueryTerms(std::size_t)>& read_one);
  ParsedQueries(ParsedQueries&&) noexcept = default;
  ParsedQueries& operator=(ParsedQueries&&) noexcept = default;
  ParsedQueries() = default;

  std::size_t size() const { return views_.size(); }
  /// Valid as long as this object, also after it is moved.
  std::span<const QueryView> views() const { return views_; }

 private:
  std::vector<QueryTerms> terms_;
  std::vector<QueryView> views_;
};

/// Reads queries. Thread-safe.
class QueryReader {
 public:
  /// `weights`: none where weights don't matter but that they are not 0, as for intersections; each term of a vector
  /// then weighs 1. `memory` bounds what the words of a query may take, and must outlive the reader; null: no bound.
  QueryReader(const AnalyzerOptions& analyzer, QueryKind kind, std::optional<QueryWeights> weights = {},
              const QueryMemory* memory = nullptr);

  /// Reads a query of the reader's kind. Throws InvalidArgument if a vector is to be read and the text is none, or as
  /// use() does; and if the memory is too small.
  QueryTerms read(std::string_view text) const;
  /// Reads many, on `threads` threads.
  ParsedQueries read(std::span<const std::string_view> texts, unsigned threads) const;
  /// Takes terms as the index has them. The weights of a term that comes several times are added up; terms of weight 0
  /// are left out. Throws InvalidArgument for weights that are negative, not finite, not whole where they must be, or
  /// otherwise out of range.
  QueryTerms use(QueryTerms terms) const;

 private:
  double usable(const QueryTerm& term) const;

  const QueryKind kind_;
  const std::optional<QueryWeights> weights_;
  const QueryMemory* const memory_;
  mutable SparePool<Analyzer> analyzers_;
};

/// What other search engines read in a query, and Quern takes for words.
struct QuerySyntax {
  bool phrase = false;     ///< quotation marks around words
  bool operators = false;  ///< AND, OR or NOT, in a text that is not all in capitals
  bool field = false;      ///< a prefix such as title:
  bool marks = false;      ///< a sign at a word, as in +water, -wind, mil*, mill~ or mill^2
};

/// Looks for it in a query's text.
QuerySyntax syntax_in(std::string_view text);

}  // namespace quern
