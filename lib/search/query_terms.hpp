#pragma once
#include <tbb/concurrent_unordered_map.h>

#include "quern/core/scratch_memory.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/text/analyzer.hpp"

/// Queries for all engines: distinct terms in ascending order, each with its weight n_t in the query.
namespace quern {

using QueryTerms = std::vector<QueryTerm>;
using QueryView = std::span<const QueryTerm>;

/// The form of a query: text for the index's analyzer, or a JSON object of the index's terms and their weights
/// (parse_query_vector()).
enum class QueryKind : std::uint8_t { text, vector };

/// The range of query weights, and of their scales. It keeps all intermediate results normal float32 numbers.
inline constexpr double min_query_weight = 1e-9, max_query_weight = 1e9;
/// Integers below this are exact in float32.
inline constexpr double max_exact_sum = 0x1p24;

/// How a vector's weights become weights of scores.
struct QueryWeights {
  bool whole = false;           ///< weights must be integers, since scores are
  std::optional<double> scale;  ///< multiplies weights, which are then rounded, at least to 1; none: they must be whole
};

/// The terms of a text; each occurrence weighs 1.
QueryTerms terms_of_text(std::string_view text, Analyzer& analyzer);

/// A query's terms, separated by spaces, for messages.
std::string text_of_terms(QueryView query);

/// Queries that were read together.
class ParsedQueries {
 public:
  explicit ParsedQueries(std::vector<QueryTerms> queries)
      : terms_(std::move(queries)), views_(terms_.begin(), terms_.end()) {}
  /// Queries whose views are parts of `terms`.
  ParsedQueries(std::vector<QueryTerms> terms, std::vector<QueryView> views)
      : terms_(std::move(terms)), views_(std::move(views)) {}
  ParsedQueries(ParsedQueries&&) noexcept = default;
  ParsedQueries& operator=(ParsedQueries&&) noexcept = default;
  ParsedQueries() = default;

  std::size_t size() const { return views_.size(); }
  /// Valid as long as this object, even if it moves.
  std::span<const QueryView> views() const { return views_; }

 private:
  std::vector<QueryTerms> terms_;
  std::vector<QueryView> views_;
};

/// Reads queries. Thread-safe.
class QueryReader {
 public:
  /// Without `weights`, as for intersections, each term of a vector weighs 1, unless its weight is 0. `memory` limits
  /// the memory of a query's words and must outlive the reader; null: no limit.
  QueryReader(const AnalyzerOptions& analyzer, QueryKind kind, std::optional<QueryWeights> weights = {},
              const QueryMemory* memory = nullptr);

  /// Reads a query of the reader's kind. Throws InvalidArgument if the text should be a vector and isn't, if the memory
  /// is too small, and like use().
  QueryTerms read(std::string_view text, Analyzer& analyzer) const;
  QueryTerms read(std::string_view text) const { return read(text, *analyzer()); }
  /// Reads several queries on `threads` threads.
  ParsedQueries read(std::span<const std::string_view> texts, unsigned threads) const;
  /// As above, each by read_one(number, a thread's analyzer).
  ParsedQueries read(std::size_t count, unsigned threads,
                     const std::function<QueryTerms(std::size_t, Analyzer&)>& read_one) const;
  /// An analyzer for one thread.
  SparePool<Analyzer>::Borrowed analyzer() const { return analyzers_.borrow(); }
  /// Makes a query of the index's terms: adds up the weights of repeated terms and drops terms of weight 0. Throws
  /// InvalidArgument for weights that are out of range, or not whole where they must be.
  QueryTerms use(QueryTerms terms) const;

 private:
  double usable(const QueryTerm& term) const;

  const QueryKind kind_;
  const std::optional<QueryWeights> weights_;
  const QueryMemory* const memory_;
  mutable SparePool<Analyzer> analyzers_;
};

/// Query syntax of other search engines, which Quern treats as words.
struct QuerySyntax {
  bool phrase = false;     ///< quotation marks around words
  bool operators = false;  ///< AND, OR or NOT, unless all letters are capitals
  bool field = false;      ///< a prefix such as title:
  bool marks = false;      ///< a sign at a word, as in +water, -wind, mil*, mill~ or mill^2
};

/// Finds such syntax in a query.
QuerySyntax syntax_in(std::string_view text);

/// Caches the posting lists of terms: a lookup decodes half a lexicon block on average, and queries repeat terms.
/// Thread-safe.
class FoundTerms {
 public:
  /// Maximum memory per cached term.
  static constexpr std::uint64_t term_bytes = 320;
  static constexpr std::size_t default_terms = 1 << 15;

  /// The index must outlive it. It caches the first `max_terms` terms it sees, except long ones.
  explicit FoundTerms(const IndexReader& index, std::size_t max_terms = default_terms)
      : index_(index), max_terms_(max_terms) {}

  /// As IndexReader::find().
  std::optional<PostingList> find(const std::string& term) {
    if (const auto known = lists_.find(term); known != lists_.end()) return known->second;
    std::optional<PostingList> list = index_.find(term);
    if (term.size() <= longest_term && lists_.size() < max_terms_) lists_.emplace(term, list);
    return list;
  }

 private:
  static constexpr std::size_t longest_term = 40;
  /// The entry, the hash table's links, and a term stored on the heap.
  static_assert(sizeof(std::pair<const std::string, std::optional<PostingList>>) + longest_term + 1 +
                    5 * sizeof(void*) <=
                term_bytes);

  const IndexReader& index_;
  std::size_t max_terms_;
  tbb::concurrent_unordered_map<std::string, std::optional<PostingList>> lists_;
};

}  // namespace quern
