#pragma once
#include "quern/core/wall_clock.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/query_statistics.hpp"
#include "quern/search/query_terms.hpp"
#include "quern/search/top_k.hpp"

/// Query algorithms: functions from the posting lists of a query to its best documents.
namespace quern {

class ListBitmaps;

/// A query term's posting list and weight.
struct WeightedList {
  PostingList list;
  float weight = 0;  ///< factor of its impacts: w_t, or n_t for quantized scores
  double count = 1;  ///< n_t: the term's weight in the query, or its occurrences
};

/// Maximum memory that an algorithm needs for each list of a query, mostly block buffers.
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

/// The prefix of a list that a query visits (Wang et al. 3.3.1): with lists l(0), l(1), … in the order of summation, it
/// ends with the last document that the query finds in all of l(0) to l(i).
struct ListVisit {
  term_t term = 0;
  std::uint64_t df = 0;
  docid_t end = 0;  ///< one past the last docID visited; 0 if there is none
};

/// Memory that the visits take.
inline std::uint64_t visit_bytes(const std::vector<ListVisit>& visits) { return visits.capacity() * sizeof(ListVisit); }

/// Records the visits of `and`, which then runs as in Wang et al.: it reads every posting of l(0) until it terminates
/// early, possible after each `round` of them.
struct VisitCount {
  std::uint64_t round = 0;  ///< postings of l(0); a multiple of the index's block size
  std::vector<ListVisit> lists;
};

/// Consecutive documents that share an upper bound of their static scores.
inline constexpr docid_t static_bound_documents = 512;

/// The longest time budget, in microseconds.
inline constexpr double max_budget_us = 60e6;

/// When the search for a query's results stops although they are not proven. None of the two: never.
struct SearchBudget {
  std::optional<double> time_us = std::nullopt;          ///< spent on the query
  std::optional<double> blocks_left_out = std::nullopt;  ///< percent of the windows that may contain results

  bool is_set() const { return time_us || blocks_left_out; }
};

/// Input of an algorithm besides the lists.
struct ScoringContext {
  const IndexReader* index = nullptr;
  QueryStatistics* statistics = nullptr;       ///< never null while an algorithm runs
  std::span<const float> constants;            ///< K_d of each docID
  bool all_terms_found = true;                 ///< the index contains every term of the query
  bool bounds_hold = true;                     ///< the index's block and list maxima were made with this k1 and b
  const ImpactQuantizer* quantizer = nullptr;  ///< for scores that are sums of the index's quantized impacts
  std::span<const float> static_scores;        ///< by docID: the score's first addend; empty: 0
  std::span<const float> static_score_bounds;  ///< highest static score of each static_bound_documents documents
  VisitCount* visits = nullptr;                ///< receives the visits of `and`; null: not counted
  std::span<const float> upper_bounds;         ///< by docID: of its score and all later ones; empty: unknown
  docid_t first = 0;                           ///< `and` starts here; `top` holds earlier documents
  const DocumentSet* passing = nullptr;        ///< documents that pass the filter; null: all
  ListBitmaps* bitmaps = nullptr;              ///< of the index, for quantized scores; null: none
  const SearchBudget* budget = nullptr;        ///< null: results are exact
  WallClock::time_point begun = {};            ///< of the query, if there is a budget
  float above = -1;  ///< documents that don't score more may be left out; -1 is below all scores

  /// Marks documents without any of the terms: below all scores, which may be 0 with static scores.
  float nothing() const { return static_scores.empty() ? 0.0f : -1.0f; }
  /// The number of addends in a score of n terms.
  std::size_t addends(std::size_t n) const { return n + (static_scores.empty() ? 0 : 1); }
  /// Upper bound of the static scores in [begin, end), which must not be empty.
  float static_score_bound(docid_t begin, docid_t end) const {
    if (static_scores.empty()) return 0;
    const auto bounds = static_score_bounds.subspan(begin / static_bound_documents);
    return *std::max_element(bounds.begin(),
                             bounds.begin() + (end - 1) / static_bound_documents - begin / static_bound_documents + 1);
  }
  /// Whether any document in [begin, end) passes the filter.
  bool some_pass(docid_t begin, docid_t end) const { return !passing || passing->next(begin, end) < end; }
  /// Whether no document from `docid` on scores more than `score`. An algorithm that works in docID order can then stop
  /// once it has k documents with at least that score (Wang et al. 3.2).
  bool none_above(docid_t docid, float score) const {
    return docid < upper_bounds.size() && upper_bounds[docid] <= score;
  }
  /// Records that `count` ascending documents are in all lists up to list i.
  void visit(std::size_t i, const docid_t* docids, std::size_t count) const {
    if (visits && count > 0) visits->lists[i].end = docids[count - 1] + 1;
  }
  /// Whether a query may terminate early after `postings` postings of its first list.
  bool may_stop(std::uint64_t postings) const { return !visits || postings % visits->round == 0; }
  /// Records that no document from `docid` on was scored.
  void stop_early(docid_t docid) const {
    statistics->stopped_at = docid;
    statistics->stopped_early = 1;
  }
};

/// The documents that an algorithm finds.
enum class Matching {
  any,          ///< with at least one of the terms
  all,          ///< with all terms: none if a term is not in the index
  all_else_any  ///< with all terms if there are k such documents, otherwise with any
};

struct QueryAlgorithm {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  Matching matching = Matching::any;
  /// Adds documents to `top`, which then holds the k best with their exact scores. `lists` are in the order of
  /// summation (summed_before()); there is at least one.
  void (*run)(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) = nullptr;
  /// Whether it makes RowBuckets of the lists.
  bool cuts_rows = false;
  /// Whether it can keep to a budget.
  bool takes_budget = false;
  SearchBudget budget = {};
};

/// All algorithms, in the order of help texts; the first is the default. Add new ones here, and unions that `auto` may
/// choose in choose_union().
const std::vector<QueryAlgorithm>& all_algorithms();

/// Throws InvalidArgument, listing all names, if the name is unknown.
const QueryAlgorithm& algorithm_named(std::string_view name);

/// The algorithm with a budget. Throws InvalidArgument if it can't keep to one, or if the budget is out of range.
QueryAlgorithm within_budget(const QueryAlgorithm& algorithm, const SearchBudget& budget);

/// WAND: skips documents whose lists' upper bounds sum up to too little, from pivot to pivot.
void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// Block-max WAND: uses the upper bounds of blocks.
void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// MaxScore over windows of documents with block maxima: skips postings that cannot matter.
void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// Block-max pruning, for quantized scores: scores blocks of documents whose upper bounds are high enough, with bitmaps
/// of the longest lists. Exact scores have none: WAND or, with a budget, MaxScore.
void run_bmp(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// Throws InvalidArgument if the index is one of several shards and the algorithm needs all of them: and-or must know
/// how many documents of every shard contain all terms.
void check_whole_results(const IndexReader& index, const QueryAlgorithm& algorithm);

}  // namespace quern
