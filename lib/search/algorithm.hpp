#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/query_statistics.hpp"
#include "quern/search/query_terms.hpp"
#include "quern/search/top_k.hpp"

/// Query algorithms: functions from the posting lists of a query to its best documents.
namespace quern {

/// A term of a query, with its list.
struct WeightedList {
  PostingList list;
  float weight = 0;  ///< of its impacts: w_t, or n_t for quantized scores
  double count = 1;  ///< n_t: the weight that the query gives the term, or its occurrences there
};

/// What an algorithm takes in memory for each of a query's lists while it runs, at most: buffers for a block, mostly.
inline constexpr std::uint64_t query_list_bytes = 12 << 10;

/// The order in which term scores are summed: ascending df, ties by lexicon number.
inline bool summed_before(const PostingList& a, const PostingList& b) {
  return a.whole_df != b.whole_df ? a.whole_df < b.whole_df : a.number < b.number;
}

/// Calls add(list, n_t) for each of the query's terms that the index contains, in their order. Returns whether the
/// index contains all of them; with `all_needed` it stops at the first that it doesn't. `index`: an IndexReader, or its
/// FoundTerms.
template <class Index, class Add>
bool find_lists(Index& index, QueryView query, bool all_needed, Add&& add) {
  bool all_found = true;
  for (const QueryTerm& term : query) {
    if (const auto list = index.find(term.term)) {
      add(*list, term.weight);
    } else {
      all_found = false;
      if (all_needed) break;
    }
  }
  return all_found;
}

/// How far a query visits one of its lists (Wang et al. 3.3.1): with its lists l(0), l(1), … in the order of summation,
/// it visits the postings of l(i) up to the last document that it finds in all of l(0) to l(i) before it ends. These
/// are always a prefix of the list.
struct ListVisit {
  term_t term = 0;
  std::uint64_t df = 0;
  docid_t end = 0;  ///< one more than the last docID visited; 0 if none is
};

/// What they take in memory.
inline std::uint64_t visit_bytes(const std::vector<ListVisit>& visits) { return visits.capacity() * sizeof(ListVisit); }

/// Counts the visits of a query by `and`, run as in Wang et al.: it reads all postings of l(0), skips none because of
/// another list, and may terminate early after each `round` of them.
struct VisitCount {
  std::uint64_t round = 0;  ///< postings of l(0); a multiple of the index's block size
  std::vector<ListVisit> lists;
};

/// Documents that share an upper bound of their static scores.
inline constexpr docid_t static_bound_documents = 512;

/// What an algorithm reads besides the lists.
struct ScoringContext {
  const IndexReader* index = nullptr;
  QueryStatistics* statistics = nullptr;       ///< never null while an algorithm runs
  std::span<const float> constants;            ///< K_d of each docID
  bool all_terms_found = true;                 ///< no term of the query is missing from the index
  bool bounds_hold = true;                     ///< the index's block and list maxima were made with this k1 and b
  const ImpactQuantizer* quantizer = nullptr;  ///< if scores are sums of the index's quantized impacts
  std::span<const float> static_scores;        ///< of each docID: what its score's sum begins with; empty: 0
  std::span<const float> static_score_bounds;  ///< the highest static score of each static_bound_documents documents
  VisitCount* visits = nullptr;                ///< the visits of `and`, if they are counted
  std::span<const float> upper_bounds;         ///< of each docID, for the scores from there on; empty: unknown
  docid_t first = 0;                           ///< `and` adds documents from here on to those that `top` has already
  const DocumentSet* passing = nullptr;        ///< the documents that may be results; null: all
  float above = -1;  ///< documents that score no more may be left out of the results; -1 is below all scores

  /// Stands for the score of a document without any of the terms: below all scores, which may be 0 with static scores.
  float nothing() const { return static_scores.empty() ? 0.0f : -1.0f; }
  /// How many numbers a score of n terms is the sum of.
  std::size_t addends(std::size_t n) const { return n + (static_scores.empty() ? 0 : 1); }
  /// Upper bound of the static scores of the documents in [begin, end), which are some.
  float static_score_bound(docid_t begin, docid_t end) const {
    if (static_scores.empty()) return 0;
    const auto bounds = static_score_bounds.subspan(begin / static_bound_documents);
    return *std::max_element(bounds.begin(),
                             bounds.begin() + (end - 1) / static_bound_documents - begin / static_bound_documents + 1);
  }
  /// Whether documents in [begin, end) may be results, whatever they score.
  bool some_pass(docid_t begin, docid_t end) const { return !passing || passing->next(begin, end) < end; }
  /// Whether no document from `docid` on scores more than `score`. If an algorithm processes documents in docID order
  /// and k of them score at least that, there are no more results (Wang et al. 3.2).
  bool none_above(docid_t docid, float score) const {
    return docid < upper_bounds.size() && upper_bounds[docid] <= score;
  }
  /// Notes that `count` ascending documents are in all lists up to list i.
  void visit(std::size_t i, const docid_t* docids, std::size_t count) const {
    if (visits && count > 0) visits->lists[i].end = docids[count - 1] + 1;
  }
  /// Whether a query that has read `postings` postings of its first list may terminate early.
  bool may_stop(std::uint64_t postings) const { return !visits || postings % visits->round == 0; }
  /// Notes that no document from `docid` on was scored.
  void stop_early(docid_t docid) const {
    statistics->stopped_at = docid;
    statistics->stopped_early = 1;
  }
};

/// Which documents an algorithm finds.
enum class Matching {
  any,          ///< with at least one of the terms
  all,          ///< with all terms: none if a term is not in the index
  all_else_any  ///< with all terms if there are k of them, else with any
};

struct QueryAlgorithm {
  /// As options have it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  Matching matching = Matching::any;
  /// Adds documents to `top`, so that it contains the k best and their exact scores. `lists` are in the order of
  /// summation (summed_before()); there is at least one.
  void (*run)(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) = nullptr;
};

/// All algorithms, in the order in which help texts show them; the first is the default. The one place to add one; what
/// `auto` chooses from is in automatic.cpp.
const std::vector<QueryAlgorithm>& all_algorithms();

/// Throws InvalidArgument, with all names, if no algorithm has this name.
const QueryAlgorithm& algorithm_named(std::string_view name);

/// The union that is predicted to be the fastest for the query: one of the next four.
void run_auto(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The exhaustive union, document at a time: scores every posting of every list. The baseline of all others.
void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// MaxScore over windows of documents with block maxima: doesn't score what cannot be a result.
void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// WAND: skips documents whose lists' upper bounds sum up to too little, from pivot to pivot.
void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// Block-max WAND: the same with the upper bounds of blocks.
void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The intersection, from the shortest list on; scores the documents that have all terms.
void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The results of the intersection if there are k of them, else those of the union.
void run_and_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

/// Throws InvalidArgument if the index is one of several shards, and the algorithm's results depend on those of all:
/// and-or needs to know how many documents of the others have all terms.
void check_whole_results(const IndexReader& index, const QueryAlgorithm& algorithm);

}  // namespace quern
