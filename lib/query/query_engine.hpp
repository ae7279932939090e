#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// What a posting adds to a score: its exact part, or the index's quantized impact of it times the term's count in the
/// query. Quantized scores are sums of integers.
enum class Scores { exact, quantized };

/// bm25_pagerank: alpha · PageRank + (1 - alpha) · BM25, both in [0, 1] (Wang et al. 3.2). In float32, the sum of a
/// document's parts begins with alpha ⊗ PageRank, and w_t is (1 - alpha) times the term's share of the query's IDF.
enum class Scorer { bm25, bm25_pagerank };

/// "bm25" or "bm25+pagerank", as command lines and plans have it.
std::string_view scorer_name(Scorer scorer);
/// Throws InvalidArgument for any other name.
Scorer scorer_named(std::string_view name);

/// How documents are scored. The index's own k1 and b unless told otherwise.
struct ScoringOptions {
  Bm25Parameters bm25;
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  Scorer scorer = Scorer::bm25;
  double alpha = 0.3;             ///< of bm25_pagerank, 0 to 1
  bool early_termination = true;  ///< where it can be: see QueryEngine::why_not_early()
};

/// Answers queries over one index. Thread-safe where each thread brings its own analyzer.
class QueryEngine {
 public:
  /// Throws InvalidArgument where quantized scores are asked for that the index has not: without such impacts, or with
  /// another k1, b or IDF than theirs; for PageRank where the index has none, or with quantized scores. Throws
  /// CorruptFile where the index's PageRank or global scores are none.
  QueryEngine(const IndexReader& index, const ScoringOptions& options);

  Analyzer make_analyzer() const { return Analyzer(index_.manifest().analyzer); }
  /// The k best documents for a query's text, best first. Adds to `statistics`, where there are any. Throws
  /// InvalidArgument where the query has so many terms that a sum of quantized impacts might reach 2^24, above which
  /// float32 is not exact.
  std::vector<ScoredDocument> search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                     Analyzer& analyzer, QueryStatistics* statistics = nullptr) const;
  /// Runs a query by `and` and says what it visits of its lists, in the order of summation; nothing where it has no
  /// term or one that the index does not have. `round` as in VisitCount: throws InvalidArgument where it is no multiple
  /// of the block size.
  std::vector<ListVisit> visits(std::vector<std::string> terms, std::size_t k, std::uint64_t round,
                                QueryStatistics* statistics = nullptr) const;
  /// A query's lists in the order of summation, with the weights of their parts; `all_found` says whether each of its
  /// terms has one. Adds nothing to any statistics: for engines that answer by other means.
  std::vector<WeightedList> lists_of(std::vector<std::string> terms, bool& all_found) const;
  /// What all queries share; nothing is counted.
  ScoringContext scoring_context() const;
  /// Throws InvalidArgument where a sum of quantized impacts might reach 2^24; see search().
  void check_sums(std::span<const WeightedList> lists) const;
  /// Of quantized scores; else null.
  const ImpactQuantizer* quantizer() const { return quantizer_ ? &*quantizer_ : nullptr; }
  /// K_d of each docID.
  std::span<const float> constants() const { return constants_; }

  const IndexReader& index() const { return index_; }
  const ScoringOptions& options() const { return options_; }
  /// Queries end as soon as the global scores of documents to come say that there are no more results.
  bool ends_early() const { return !upper_bounds_.empty(); }
  /// Why they don't: the index, or the options.
  const std::string& why_not_early() const { return why_not_early_; }

 private:
  void run(const QueryAlgorithm& algorithm, std::span<const WeightedList> lists, bool all_found, VisitCount* visits,
           TopK& top, QueryStatistics* statistics) const;
  void set_weights(std::vector<WeightedList>& lists) const;
  void use_pagerank();
  void use_global_scores();
  void count_depths(std::span<const WeightedList> lists, QueryStatistics& statistics) const;

  const IndexReader& index_;
  ScoringOptions options_;
  std::optional<ImpactQuantizer> quantizer_;  ///< of quantized scores
  std::vector<float> constants_;
  std::vector<float> static_scores_, static_score_bounds_;  ///< as in ScoringContext
  std::span<const float> upper_bounds_;
  std::string why_not_early_;
};

/// A query's results, and what they took.
struct QueryAnswer {
  std::vector<ScoredDocument> documents;
  QueryStatistics statistics;
  double time_us = 0;  ///< to find them
  std::string text;    ///< what `render` made of them
};

/// What is done with the answers of a batch.
struct BatchSteps {
  /// In the thread that found the answer, right after, for several answers at once: may write its text. May be missing.
  std::function<void(std::size_t, QueryAnswer&)> render;
  /// In the calling thread, in the order of the queries.
  std::function<void(std::size_t, const QueryAnswer&)> take;
};

/// Runs queries over `threads` threads, which share nothing but the number of the next query.
void run_batch(const QueryEngine& engine, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
               std::size_t k, unsigned threads, const BatchSteps& steps);

}  // namespace quern
