#pragma once
#include <bit>

#include "quern/formats/index_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/kernels.hpp"

/// Term scores of one list's postings, and their upper bounds.
namespace quern {

/// Computes term scores: the term's weight times the impact, or, for quantized scores, the number of the term's
/// occurrences in the query times the impact's integer. Integers are exact in float32: the engine refuses queries whose
/// sums could reach 2^24.
class ListScorer {
 public:
  /// `static_scores`: added to the term scores, for the list with which sums begin.
  ListScorer(const ScoringContext& context, const WeightedList& list, std::span<const float> static_scores = {})
      : static_scores_(static_scores),
        index_(context.index),
        quantizer_(context.quantizer),
        constants_(context.constants),
        weight_(list.weight),
        unit_weight_(quantizer_ ? context.index->quantized_weight(list.list) : 0),
        bounds_hold_(context.bounds_hold),
        kernels_(query_kernels()) {}

  float weight() const { return weight_; }
  /// Whether block rows and list maxima were made with this query's k1 and b.
  bool bounds_hold() const { return bounds_hold_; }
  /// The term score of an impact, without a static score. Monotonic in the impact.
  float term_score_of(float impact) const {
    if (!quantizer_) return weight_ * impact;
    return weight_ * static_cast<float>((*quantizer_)(unit_weight_ * impact));
  }
  /// Upper bound of the term scores of one block of a list with block rows.
  float block_bound(const PostingList& list, std::size_t block) const {
    return term_score_of(bounds_hold_ ? dequantize_up(list.block_max[block]) : 1.0f);
  }
  /// Upper bound of the term scores of the whole list. A short list has no stored maximum and is decoded already, so
  /// its scores are computed.
  float list_bound(BlockReader& reader) const;
  /// The list bound of a list that is not short; needs no reader.
  float long_list_bound(const PostingList& list) const { return term_score_of(bounds_hold_ ? list.max_impact : 1.0f); }

  /// Writes the term scores of the current block to `out`, which has space for over_write_values more.
  void term_scores(BlockReader& reader, float* out) const;
  /// Writes the term scores of up to max_wanted postings of any block, where docids[i] is at places[i]. `out` has space
  /// for kernel_slack more.
  void term_scores_at(BlockReader& reader, std::size_t block, const docid_t* docids,
                      std::span<const std::uint16_t> places, float* out) const;

 private:
  /// The quantized term score of a posting of a short list.
  float short_list_score(freq_t freq, docid_t docid) const {
    return term_score_of(index_->impact_of(freq, constants_[docid]));
  }

  std::span<const float> static_scores_;
  const IndexReader* index_;
  const ImpactQuantizer* quantizer_;
  std::span<const float> constants_;
  float weight_, unit_weight_;
  bool bounds_hold_;
  const QueryKernels& kernels_;
};

/// The k-th best term score that the list stores, for k = stored_ranks[rank], rounded down; 0 if it stores none.
inline float kth_term_score(const ScoringContext& context, const WeightedList& list, std::size_t rank) {
  const float impact = list.list.kth_impact[rank];
  return impact > 0 ? ListScorer(context, list).term_score_of(impact) : 0;
}

/// Upper bounds of one list's term scores in ascending ranges of documents, from its block rows; decodes nothing.
class ListBounds {
 public:
  /// `max_term_score` is an upper bound for the whole list. Keeps a view of the list's rows.
  ListBounds(const PostingList& list, const ListScorer& scorer, float max_term_score)
      : last_(list.block_last), max_(list.block_max), scorer_(scorer), max_term_score_(max_term_score) {}

  float max_term_score() const { return max_term_score_; }
  /// The next ranges begin at `docid` or later; may go back.
  void restart(docid_t docid) { block_ = search_rows(last_, 0, docid); }
  /// Upper bound of the term scores in [begin, end); `begin` is not below that of the previous call.
  float in(docid_t begin, docid_t end) {
    if (last_.empty() || !scorer_.bounds_hold()) return max_term_score_;
    while (block_ < last_.size() && last_[block_] < begin) ++block_;
    if (block_ == last_.size() || (block_ > 0 && last_[block_ - 1] + 1 >= end)) return 0;
    std::uint16_t max = max_[block_];
    for (std::size_t block = block_; block + 1 < last_.size() && last_[block] + 1 < end; ++block)
      max = std::max(max, max_[block + 1]);
    return scorer_.term_score_of(dequantize_up(max));
  }

 private:
  std::span<const docid_t> last_;
  std::span<const std::uint16_t> max_;
  ListScorer scorer_;
  float max_term_score_;
  std::size_t block_ = 0;  ///< the first that reaches the current range
};

/// Term scores are exact, or quantized: the posting's quantized impact in the index times the occurrences of the term
/// in the query. Quantized scores are sums of integers. Where the corpus gave the impacts, scores are always quantized.
enum class Scores { exact, quantized };

inline constexpr NamedValue<Scores> scores_names[] = {
    {"exact", Scores::exact, "32-bit floating point"},
    {"quantized", Scores::quantized, "sums of the quantized impacts in the index"},
};

inline constexpr NamedValue<Idf> idf_names[] = {{"lucene", Idf::lucene}, {"robertson", Idf::robertson}};

/// bm25_pagerank: alpha · PageRank + (1 - alpha) · BM25, both in [0, 1] (Wang et al. 3.2). In float32, the sum of a
/// document's term scores begins with alpha ⊗ PageRank, and w_t is (1 - alpha) times the term's share of the query's
/// IDF.
enum class Scorer { bm25, bm25_pagerank };

/// The names of scorers on command lines and in plans.
inline constexpr NamedValue<Scorer> scorer_names[] = {
    {"bm25", Scorer::bm25, "only BM25"},
    {"bm25+pagerank", Scorer::bm25_pagerank, "A * PageRank + (1 - A) * BM25, both from 0 to 1; A is alpha"},
};

/// How documents are scored.
struct ScoringOptions {
  Bm25Parameters bm25;
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  Scorer scorer = Scorer::bm25;
  double alpha = 0.3;             ///< of bm25_pagerank, 0 to 1
  bool early_termination = true;  ///< if it is possible: see QueryEngine::why_not_early()
  /// With quantized scores: see QueryWeights.
  std::optional<double> query_scale = std::nullopt;
};

/// The user's values for parameters that an index also stores.
struct GivenScoring {
  std::optional<double> k1, b, alpha;
};

/// Options with the given k1, b and alpha, or else the index's; alpha is 0.3 if the index has none.
ScoringOptions scoring_of_index(const IndexReader& index, const GivenScoring& given);

// The scores that documents must pass to become results.

/// Increases an upper bound that is summed in double, in any order, so that it covers the float32 roundings of a score
/// of n terms: one for each product, one for each sum.
inline double with_slack(double bound, std::size_t n) { return bound * (1.0 + static_cast<double>(n) * 0x1p-23); }

/// The next float below a positive one; -1 below 0, which is below all scores.
inline float next_below(float value) {
  return value > 0 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) - 1) : -1.0f;
}

/// A score that all results exceed according to the context; below all scores if it gives none.
inline float given_threshold(const ScoringContext& context) { return std::max(context.nothing(), context.above); }

/// A score that all results of a union exceed, known before any document is scored: the context's, or one just below
/// the k-th best term score of a single list, which at least k documents reach. Lists don't count if they store no such
/// term score, or under a filter, which their best documents might not pass.
inline float primed_threshold(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  const float given = given_threshold(context);
  std::size_t rank = 0;
  while (rank < stored_ranks.size() && stored_ranks[rank] < k) ++rank;
  if (!context.bounds_hold || context.passing || rank == stored_ranks.size()) return given;
  float best = 0;
  for (const WeightedList& list : lists) best = std::max(best, kth_term_score(context, list, rank));
  // A document that ties with it may be a result.
  return best > 0 ? std::max(given, next_below(best)) : given;
}

/// The score that a document must exceed to become a result.
class Threshold {
 public:
  /// `primed` is a score that all results exceed, as far as it is known in advance.
  Threshold(float primed, const TopK& top) : top_(top), primed_(primed) {}

  /// For documents from `docid` on, in whatever order they are scored: a tie loses only against a lower docID.
  float value(docid_t docid) const {
    if (!top_.full()) return primed_;
    const ScoredDocument worst = top_.worst();
    return std::max(primed_, worst.docid < docid ? worst.score : next_below(worst.score));
  }

 private:
  const TopK& top_;
  float primed_;
};

/// Decides whether a document can still become a result while some of its term scores are unknown.
class ScoreCut {
 public:
  /// Results score above `min`. Scores are sums of n numbers; `nothing` stands for the score of a document without any.
  ScoreCut(double min, std::size_t n, float nothing) : min_(min), slack_(with_slack(1.0, n)), nothing_(nothing) {}

  /// Whether a document can be a result if `bound` is an upper bound of the sum of its term scores.
  bool can_pass(double bound) const { return bound * slack_ > min_; }
  /// The partial score that a document must exceed if `rest` is an upper bound of what it still lacks: the largest s
  /// with (s + rest) * slack <= min, rounded down; or `nothing`, which all scores exceed.
  float min_score(double rest) const {
    const double score = min_ / slack_ - rest;
    return score <= 0 ? nothing_ : std::max(nothing_, next_below(static_cast<float>(score)));
  }

 private:
  double min_, slack_;
  float nothing_;
};

}  // namespace quern
