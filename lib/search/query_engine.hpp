#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/list_bitmaps.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_terms.hpp"
#include "quern/search/scoring.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Answers queries over one index. Thread-safe.
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
  /// What reads queries for this engine, and all others of the same index and scoring. The engine must outlive it.
  QueryReader reader(QueryKind kind = QueryKind::text) const;
  /// The k best documents for a query, best first, of those in `passing` or, if that is null, of all; those that score
  /// `above` or less may be left out. Adds to *statistics, unless it is null. Throws InvalidArgument if `passing`
  /// and the index differ in their number of documents, if the query has enough terms for a sum of quantized impacts to
  /// reach 2^24, where float32 stops being exact, or if the memory for queries is too small.
  std::vector<ScoredDocument> search(QueryView query, const QueryAlgorithm& algorithm, std::size_t k,
                                     QueryStatistics* statistics = nullptr, const DocumentSet* passing = nullptr,
                                     float above = ScoringContext().above) const;
  /// Goes on with an `and` query whose documents below `first` were looked through elsewhere, for example by a GPU
  /// that has only the fronts of its lists (Wang et al. 2017, section 3.3): returns the k best of all documents with
  /// all terms. `found`: those documents below `first` that are among the k best of them, with their scores; documents
  /// from `first` on are left out, since they are found again. `lists`: all of the query's, as lists_of() returns them.
  /// Decodes nothing if `found` has k documents and global scores rule out more results. `passing`, and what is added
  /// to *statistics, as search(), the lists counted whole; throws like search().
  std::vector<ScoredDocument> resume(std::span<const WeightedList> lists, std::size_t k, docid_t first,
                                     std::span<const ScoredDocument> found, QueryStatistics* statistics = nullptr,
                                     const DocumentSet* passing = nullptr) const;
  /// Throws InvalidArgument if `passing`, a filter or null, is a set of another number of documents than the index has.
  void check_passing(const DocumentSet* passing) const;
  /// Runs a query with `and` and returns its visits of its lists, in the order of summation; nothing if the query has
  /// no terms or one that is not in the index. `round` as in VisitCount: throws InvalidArgument if it is not a multiple
  /// of the block size; and as search() does.
  std::vector<ListVisit> visits(QueryView query, std::size_t k, std::uint64_t round,
                                QueryStatistics* statistics = nullptr) const;
  /// A query's lists in the order of summation, with their weights. Sets `all_found` to whether all its terms are in
  /// the index. Counts nothing: for engines that answer queries by other means.
  std::vector<WeightedList> lists_of(QueryView query, bool& all_found) const;
  /// Appends them to the lists of other queries: an allocation less for each.
  void append_lists(QueryView query, bool& all_found, std::vector<WeightedList>& lists) const;
  /// Sets the weights that a query's lists, in the order of summation, have with these options; of them, only the
  /// scores' parameters may differ from the engine's. `idf_sum`: idf_sum_of_whole().
  void set_weights(std::span<WeightedList> lists, const ScoringOptions& options, std::optional<double> idf_sum) const;
  /// For a shard with PageRank: the sum of n_t · IDF over all terms of the query, in the order of summation, with terms
  /// that occur only in other shards.
  std::optional<double> idf_sum_of_whole(QueryView query) const;
  /// A term's list, as IndexReader::find(); remembered, as all that queries ask for.
  std::optional<PostingList> find(const std::string& term) const { return found_terms_.find(term); }
  /// What all queries share, without statistics.
  ScoringContext scoring_context() const;
  /// Throws InvalidArgument if a sum of quantized impacts could reach 2^24; see search().
  void check_sums(std::span<const WeightedList> lists) const;
  /// The quantizer for quantized scores; null for exact ones.
  const ImpactQuantizer* quantizer() const { return quantizer_ ? &*quantizer_ : nullptr; }
  /// K_d of each docID.
  std::span<const float> constants() const { return constants_; }

  const IndexReader& index() const { return index_; }
  /// The memory for queries.
  const QueryMemory& memory() const { return memory_; }
  const ScoringOptions& options() const { return options_; }
  /// Whether queries terminate early: as soon as the global scores of later documents rule out more results.
  bool ends_early() const { return !upper_bounds_.empty(); }
  /// Why they don't: because of the index, or of the options.
  const std::string& why_not_early() const { return why_not_early_; }

 private:
  /// The most documents that can match.
  std::uint64_t max_matches(std::span<const WeightedList> lists) const;
  /// Runs a query in a context that scoring_context() began.
  void run(const QueryAlgorithm& algorithm, std::span<const WeightedList> lists, ScoringContext context, TopK& top,
           QueryStatistics* statistics) const;
  /// Brings the lists of terms into the order of summation, and sets their weights.
  void order_and_weigh(QueryView query, std::span<WeightedList> lists) const;
  double idf_of(std::uint64_t df) const;
  void prepare();
  void use_pagerank();
  void use_global_scores();
  void count_depths(std::span<const WeightedList> lists, QueryStatistics& statistics) const;

  const IndexReader& index_;
  ScoringOptions options_;
  QueryMemory memory_;
  mutable FoundTerms found_terms_;  ///< thread-safe, like the next
  mutable ListBitmaps bitmaps_;
  std::optional<ImpactQuantizer> quantizer_;  ///< for quantized scores
  std::vector<float> constants_;
  std::vector<float> static_scores_, static_score_bounds_;  ///< as in ScoringContext
  std::span<const float> upper_bounds_;
  std::string why_not_early_;
  std::optional<StatisticsBeside> whole_;  ///< of a shard with PageRank
};

}  // namespace quern
