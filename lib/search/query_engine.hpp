#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_beside.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/found_terms.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/scoring.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Answers queries over one index. Thread-safe if each thread uses its own analyzer.
class QueryEngine {
 public:
  /// Throws InvalidArgument for quantized scores if the index has no quantized impacts, or has them for another k1, b
  /// or IDF; for PageRank if the index has none, or with quantized scores; for what would change given impacts; and
  /// for a k1, b or alpha out of range.
  /// Throws CorruptFile if the index's PageRank or global scores are invalid. The index must outlive the object.
  /// Prepares its tables on `threads` threads. `memory`: for queries while they run.
  QueryEngine(const IndexReader& index, const ScoringOptions& options, unsigned threads = 1, QueryMemory memory = {});

  /// What the tables of an engine take: numbers of every document.
  static std::uint64_t table_bytes(const IndexReader& index, Scorer scorer);

  Analyzer make_analyzer() const { return Analyzer(index_.manifest().analyzer); }
  /// The k best documents for a query's text, best first, of those in `passing` or, if that is null, of all. Adds to
  /// *statistics, unless it is null. Throws InvalidArgument if `passing` is a set of another number of documents than
  /// the index has, if the query has so many terms that a sum of quantized impacts could reach 2^24, where float32
  /// stops being exact, or that the memory for queries is too small; where the text is a vector, as weighted() does.
  std::vector<ScoredDocument> search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                     Analyzer& analyzer, QueryStatistics* statistics = nullptr,
                                     const DocumentSet* passing = nullptr) const;
  /// The same for terms as the index has them, each with a weight that takes the place of its occurrences in a text. No
  /// analyzer changes them. A term may come several times: its weights are added up. Throws as weighted() does.
  std::vector<ScoredDocument> search(std::span<const QueryTerm> terms, const QueryAlgorithm& algorithm, std::size_t k,
                                     QueryStatistics* statistics = nullptr, const DocumentSet* passing = nullptr) const;
  /// The terms with the weights that scores use: those of weight 0 are left out, and the others scaled for quantized
  /// scores. Throws InvalidArgument for a weight that is negative, not finite, not whole where scores are quantized and
  /// there is no scale, or otherwise out of range.
  std::vector<QueryTerm> weighted(std::span<const QueryTerm> terms) const;
  /// The same for a query whose lists were found: `lists` and `all_found` as lists_of() returns them.
  std::vector<ScoredDocument> search(std::span<const WeightedList> lists, bool all_found,
                                     const QueryAlgorithm& algorithm, std::size_t k,
                                     QueryStatistics* statistics = nullptr, const DocumentSet* passing = nullptr) const;
  /// A query's text that was read.
  class ReadQuery;
  /// Reads a query's text, for engines that all read it alike: those of the shards of an index. Takes memory for it of
  /// this engine's, and throws as search() does.
  ReadQuery read(std::string_view text, Analyzer& analyzer) const;
  /// As the first, of a text that was read, by this engine or another one; but documents that score `above` or less may
  /// be left out. For one thread at a time.
  std::vector<ScoredDocument> search(ReadQuery& query, const QueryAlgorithm& algorithm, std::size_t k, float above,
                                     QueryStatistics* statistics = nullptr, const DocumentSet* passing = nullptr) const;
  /// Goes on with a query by `and` whose documents below `first` were looked through elsewhere, for example by a GPU
  /// that has only the fronts of its lists (Wang et al. 2017, section 3.3): returns the k best of all documents with
  /// all terms. `found`: those documents below `first` that are among the k best of them, with their scores; documents
  /// from `first` on are left out, since they are found again. `lists`: all of the query's, as lists_of() returns them.
  /// Decodes nothing if `found` has k documents and global scores rule out more results. `passing`, and what is added
  /// to *statistics, as search(), the lists counted whole; throws as search() does.
  std::vector<ScoredDocument> resume(std::span<const WeightedList> lists, std::size_t k, docid_t first,
                                     std::span<const ScoredDocument> found, QueryStatistics* statistics = nullptr,
                                     const DocumentSet* passing = nullptr) const;
  /// Throws InvalidArgument if `passing`, a filter or null, is a set of another number of documents than the index has.
  void check_passing(const DocumentSet* passing) const;
  /// Runs a query with `and` and returns its visits of its lists, in the order of summation; nothing if the query has
  /// no terms or one that is not in the index. `round` as in VisitCount: throws InvalidArgument if it is not a multiple
  /// of the block size; and as search() does.
  std::vector<ListVisit> visits(std::vector<std::string> terms, std::size_t k, std::uint64_t round,
                                QueryStatistics* statistics = nullptr) const;
  /// A query's lists in the order of summation, with their weights. Sets `all_found` to whether all its terms are in
  /// the index. Counts nothing: for engines that answer queries by other means, which may remember the terms of earlier
  /// queries.
  std::vector<WeightedList> lists_of(std::vector<std::string> terms, bool& all_found,
                                     FoundTerms* remembered = nullptr) const;
  /// The same for a query's text, which is read as the options say.
  std::vector<WeightedList> lists_of(std::string_view text, Analyzer& analyzer, bool& all_found,
                                     FoundTerms* remembered = nullptr) const;
  /// The same, appended to the lists of other queries: an allocation less for each.
  void append_lists_of(std::string_view text, Analyzer& analyzer, bool& all_found, FoundTerms* remembered,
                       std::vector<WeightedList>& lists) const;
  /// What all queries share, without statistics.
  ScoringContext scoring_context() const;
  /// Throws InvalidArgument if a sum of quantized impacts could reach 2^24; see search().
  void check_sums(std::span<const WeightedList> lists) const;
  /// The quantizer for quantized scores; null for exact ones.
  const ImpactQuantizer* quantizer() const { return quantizer_ ? &*quantizer_ : nullptr; }
  /// K_d of each docID.
  std::span<const float> constants() const { return constants_; }

  const IndexReader& index() const { return index_; }
  const ScoringOptions& options() const { return options_; }
  /// Whether queries terminate early: as soon as the global scores of later documents rule out more results.
  bool ends_early() const { return !upper_bounds_.empty(); }
  /// Why they don't: because of the index, or of the options.
  const std::string& why_not_early() const { return why_not_early_; }

 private:
  /// The most documents that can match.
  std::uint64_t max_matches(std::span<const WeightedList> lists) const;
  /// Appends the lists of terms, as find_lists() takes them, in the order of summation.
  template <class Term>
  void append_lists(std::vector<Term> terms, bool& all_found, FoundTerms* remembered,
                    std::vector<WeightedList>& lists) const;
  /// What all kinds of search() are asked for.
  struct Wanted {
    const QueryAlgorithm& algorithm;
    std::size_t k;
    QueryStatistics* statistics;
    const DocumentSet* passing;
    float above = ScoringContext().above;
  };
  /// Finds the lists of terms, which it sorts, and searches in them.
  template <class Term>
  std::vector<ScoredDocument> search_terms(std::vector<Term>& terms, const Wanted& wanted,
                                           QueryMemory::Claim& claim) const;
  /// The terms of a text that is a vector.
  std::vector<QueryTerm> terms_of_vector(std::string_view text) const {
    return weighted(parse_query_vector(text, "the query"));
  }
  /// What all kinds of search() do once lists are found.
  std::vector<ScoredDocument> search_lists(std::span<const WeightedList> lists, bool all_found, const Wanted& wanted,
                                           QueryMemory::Claim& claim) const;
  /// Runs a query in a context that scoring_context() began.
  void run(const QueryAlgorithm& algorithm, std::span<const WeightedList> lists, ScoringContext context, TopK& top,
           QueryStatistics* statistics) const;
  /// Brings the lists of terms into the order of summation, and sets their weights.
  template <class Term>
  void order_and_weigh(std::span<const Term> terms, std::span<WeightedList> lists) const;
  void set_weights(std::span<WeightedList> lists, std::optional<double> idf_sum) const;
  double idf_of(std::uint64_t df) const;
  /// Of a shard with PageRank: the sum of n_t · IDF over all terms of the query, in the order of summation, also of
  /// those that other shards alone have. `terms` as find_lists() leaves them.
  template <class Term>
  std::optional<double> idf_sum_of_whole(std::span<const Term> terms) const;
  void prepare();
  void use_pagerank();
  void use_global_scores();
  void count_depths(std::span<const WeightedList> lists, QueryStatistics& statistics) const;

  const IndexReader& index_;
  ScoringOptions options_;
  QueryMemory memory_;
  mutable FoundTerms found_terms_;            ///< thread-safe
  std::optional<ImpactQuantizer> quantizer_;  ///< for quantized scores
  std::vector<float> constants_;
  std::vector<float> static_scores_, static_score_bounds_;  ///< as in ScoringContext
  std::span<const float> upper_bounds_;
  std::string why_not_early_;
  std::optional<StatisticsBeside> whole_;  ///< of a shard with PageRank
};

class QueryEngine::ReadQuery {
 private:
  friend QueryEngine;
  explicit ReadQuery(const QueryEngine& reader) : reader_(reader), claim_(reader.memory_) {}

  const QueryEngine& reader_;
  QueryMemory::Claim claim_;
  std::variant<std::vector<std::string>, std::vector<QueryTerm>> terms_;
};

/// A query's results, and their cost.
struct QueryAnswer {
  std::vector<ScoredDocument> documents;
  QueryStatistics statistics;
  double time_us = 0;  ///< to find them
  std::string text;    ///< made by BatchSteps::render
};

/// What an answer takes in memory.
inline std::uint64_t answer_bytes(const QueryAnswer& answer) {
  return answer.documents.capacity() * sizeof(ScoredDocument) + answer.text.capacity();
}

/// What to do with the answers of a batch.
struct BatchSteps {
  /// Called in the thread that found the answer, for several answers at once; may set its text. May be empty.
  std::function<void(std::size_t, QueryAnswer&)> render;
  /// Called in the calling thread, in the order of the queries.
  std::function<void(std::size_t, const QueryAnswer&)> take;
};

/// Runs queries on `threads` threads, which share only the number of the next query. Answers that wait for their turn
/// take about `held_bytes` at most, and one per thread. `passing` as in QueryEngine::search().
void run_batch(const QueryEngine& engine, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
               std::size_t k, unsigned threads, const BatchSteps& steps, std::uint64_t held_bytes = default_held_bytes,
               const DocumentSet* passing = nullptr);
/// The same for queries of terms with weights.
void run_batch(const QueryEngine& engine, std::span<const std::vector<QueryTerm>> queries,
               const QueryAlgorithm& algorithm, std::size_t k, unsigned threads, const BatchSteps& steps,
               std::uint64_t held_bytes = default_held_bytes, const DocumentSet* passing = nullptr);

}  // namespace quern
