#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/query/list_visit.hpp"
#include "quern/query/query_statistics.hpp"
#include "quern/query/top_k.hpp"

/// Query algorithms: functions from the posting lists of a query to its best documents.
namespace quern {

/// A term of a query with its list.
struct WeightedList {
  PostingList list;
  float weight = 0;         ///< of its impacts: w_t, or n_t for quantized scores
  std::uint32_t count = 1;  ///< n_t: how often the query has the term
};

/// What an algorithm reads besides the lists.
struct ScoringContext {
  const IndexReader* index = nullptr;
  QueryStatistics* statistics = nullptr;       ///< never null while an algorithm runs
  std::span<const float> constants;            ///< K_d of each docID
  bool all_terms_found = true;                 ///< no term of the query is missing from the index
  bool bounds_hold = true;                     ///< the index's block maxima and list bounds are of this k1 and b
  const ImpactQuantizer* quantizer = nullptr;  ///< where scores are sums of the index's quantized impacts
  std::span<const float> static_scores;        ///< of each docID: what its score's sum begins with; empty: 0
  std::span<const float> static_score_bounds;  ///< the greatest prior in each of Windows(number of documents)
  VisitCount* visits = nullptr;                ///< what `and` visits of each list, where it is counted
  std::span<const float> upper_bounds;         ///< of each docID: no document from there on scores more; empty: unknown

  /// What a document without any of the terms counts as having: less than all scores, which may be 0 with priors.
  float nothing() const { return static_scores.empty() ? 0.0f : -1.0f; }
  /// Numbers that a score of n terms is the sum of.
  std::size_t addends(std::size_t n) const { return n + (static_scores.empty() ? 0 : 1); }
  /// Bounds the priors in one of the Windows.
  float static_score_bound(std::size_t window) const {
    return static_scores.empty() ? 0.0f : static_score_bounds[window];
  }
  /// No document from `docid` on scores more than `score`: where documents are met in docID order and k of them score
  /// at least that, there are no more results (Wang 3.2).
  bool none_above(docid_t docid, float score) const {
    return docid < upper_bounds.size() && upper_bounds[docid] <= score;
  }
  /// Notes that the rising `documents` are in all lists up to list i.
  void visit(std::size_t i, std::span<const ScoredDocument> documents) const {
    if (visits && !documents.empty()) visits->lists[i].end = documents.back().docid + 1;
  }
  /// A query whose first list was read up to `postings` postings may end early there.
  bool may_stop(std::uint64_t postings) const { return !visits || postings % visits->round == 0; }
  /// Notes that no document from `docid` on was looked at.
  void stop_early(docid_t docid) const {
    statistics->stopped_at = docid;
    statistics->stopped_early = 1;
  }
};

/// Which documents an algorithm finds.
enum class Matching {
  any,          ///< with one of the terms at least
  all,          ///< with all terms: none where a term is not in the index
  all_else_any  ///< with all terms where there are k of them, else with any instead
};

struct QueryAlgorithm {
  /// As -a/--algorithm takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  Matching matching = Matching::any;
  /// Adds to `top` what it needs, so that it holds the k best documents and their exact scores. `lists` come in the
  /// order of summation: increasing df, ties by lexicon number. At least one list.
  void (*run)(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) = nullptr;
};

/// All algorithms, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<QueryAlgorithm>& all_algorithms();

/// Throws InvalidArgument, with the names there are, where no algorithm is called so.
const QueryAlgorithm& algorithm_named(std::string_view name);

/// The exhaustive union, document at a time: every posting of every list is scored. The yardstick for all others.
void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// MaxScore over windows of documents with block maxima: what can't be a result is not scored.
void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// WAND: document at a time, passing over documents whose lists' bounds are too low together.
void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// Block-max WAND: the same with the bounds of blocks.
void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The intersection, document at a time from the shortest list; scored where a document has all terms (D6).
void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The intersection's results where there are k of them, else the union's instead (D6).
void run_and_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

}  // namespace quern
