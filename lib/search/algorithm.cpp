#include "quern/search/algorithm.hpp"

#include "quern/search/list_window.hpp"
#include "quern/search/range_union.hpp"
#include "quern/search/scored_intersection.hpp"
#include "quern/search/union_cost.hpp"

namespace quern {
namespace {

/// `or` prunes nothing, so it uses large windows that still fit the L1 or L2 cache.
constexpr docid_t min_or_window = 4096, or_windows = 256;

/// Bytes that each list allocates for itself: decoded values, and term scores or found postings.
constexpr std::size_t apart_bytes =
    ScratchMemory::taken_bytes(BlockReader::decoded_bytes) +
    ScratchMemory::taken_bytes(
        std::max(sizeof(float) * (max_block_size + over_write_values), IntersectedList::found_bytes));
/// Its elements in arrays of all lists; an intersection's arrays grow as lists are opened.
constexpr std::size_t array_bytes =
    sizeof(WeightedList) + std::max(sizeof(ListWindow), 3 * sizeof(IntersectedList) + sizeof(ListBounds));
static_assert(array_bytes + apart_bytes + 1024 <= query_list_bytes, "a decoder needs less than 1 KiB");

/// Queries with this many terms have loose upper bounds, which windows tighten at little cost for each term.
constexpr std::size_t many_terms = 10;
/// In a list longer than short_list and than times_results * k, most blocks can be skipped, which pays for reading all
/// its block rows first.
constexpr std::uint64_t short_list = 1024, times_results = 40;

/// The exhaustive union, document at a time: scores every posting of every list. The baseline for the others.
void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (const WeightedList& list : lists) windows.emplace_back(context, list);
  const auto next_docid = [&] {
    docid_t next = end_docid;
    for (const ListWindow& list : windows) next = std::min(next, list.next_docid());
    return next;
  };
  const docid_t documents = context.index->num_documents();
  const Windows cut(documents, std::max(min_or_window, documents / or_windows));
  WindowScores scores(cut, context.nothing());
  Candidates found(cut.size());
  const Threshold threshold(primed_threshold(context, lists, top.k()), top);
  for (docid_t next = next_docid(); next != end_docid; next = next_docid()) {
    if (context.passing) next = context.passing->next(next, documents);
    if (next >= documents) return;
    if (context.none_above(next, threshold.value(next))) return context.stop_early(next);
    const docid_t begin = cut.begin(cut.of(next)), end = cut.end(cut.of(next));
    for (ListWindow& list : windows) list.add_to(begin, end, scores.data());
    // The sums of all documents in the window; only those above the threshold are added to the results.
    scores.take_above(static_cast<float>(threshold.value(begin)), begin, end, found);
    found.keep(context.passing);
    add_all(found, top);
  }
}

/// Predicts the fastest union for a query. All unions have the same results, but not all keep to a budget.
auto choose_union(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  if (context.budget && lists.size() == 1) return run_maxscore;
  if (lists.size() == 1)
    return lists.front().list.df < std::max<std::uint64_t>(short_list, times_results * k) ? run_wand : run_bmw;
  const UnionCosts costs = union_costs(context, lists, k);
  if (context.budget) return costs.bitmaps < costs.windows ? run_bmp : run_maxscore;
  const bool by_window = lists.size() >= many_terms && costs.windows < costs.pivots;
  // Where windows would pay, the blocks of bitmaps pay more. What they cost is certain, so it is compared with the
  // most that pivots may cost.
  if (costs.bitmaps < std::min(costs.exhaustive, costs.most_pivots)) return run_bmp;
  if (costs.exhaustive < (by_window ? costs.windows : costs.pivots)) return run_or;
  return by_window ? run_maxscore : run_wand;
}

/// The union predicted to be fastest for the query.
void run_auto(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  choose_union(context, lists, top.k())(context, lists, top);
}

/// The intersection, from the shortest list on; scores the documents that have all terms.
void intersect(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top, bool cuts_rows) {
  // Checked before any list is decoded; `top` is full only if it holds documents from before.
  if (top.full() && context.none_above(context.first, top.worst().score)) return context.stop_early(context.first);
  // A single list's stored k-th best term score primes a union's threshold before anything is read.
  if (lists.size() == 1 && context.first == 0 && !context.visits) return run_auto(context, lists, top);
  ScoredIntersection(context, lists, top, cuts_rows).run();
}

void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  intersect(context, lists, top, false);
}

/// With the lookups of Wang et al. on a CPU (section 4.4).
void run_hash_segments(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  intersect(context, lists, top, true);
}

/// The results of the intersection if there are k of them, else those of the union.
void run_and_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  if (context.all_terms_found) run_and(context, lists, top);
  if (top.full()) return;
  top.clear();
  run_auto(context, lists, top);
}

}  // namespace

void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  WindowUnion windows(context, lists, top);
  if (context.budget) return windows.finish_within_budget();
  windows.probe();
  windows.finish();
}

const std::vector<QueryAlgorithm>& all_algorithms() {
  static const std::vector<QueryAlgorithm> algorithms = {
      {"auto", "documents with any of the terms, by the union that is fastest for the query", Matching::any, run_auto,
       false, true},
      {"maxscore", "documents with any of the terms; skips windows and postings that cannot matter", Matching::any,
       run_maxscore, false, true},
      {"bmw", "documents with any of the terms, by block-max WAND", Matching::any, run_bmw},
      {"bmp", "documents with any of the terms, by block-max pruning; for scores that are sums of integers",
       Matching::any, run_bmp, false, true},
      {"wand", "documents with any of the terms, by WAND", Matching::any, run_wand},
      {"or", "documents with any of the terms, every posting scored", Matching::any, run_or},
      {"and", "documents with all of the terms", Matching::all, run_and},
      {"and-or", "documents with all of the terms or, if fewer than k have them, with any of the terms",
       Matching::all_else_any, run_and_or},
      {"hash-segments", "as `and`, with blocks found in one bucket of a list's rows (Wang et al. 2017)", Matching::all,
       run_hash_segments, true},
  };
  return algorithms;
}

const QueryAlgorithm& algorithm_named(std::string_view name) {
  return find_named(all_algorithms(), name, "query algorithm");
}

QueryAlgorithm within_budget(const QueryAlgorithm& algorithm, const SearchBudget& budget) {
  if (budget.time_us) check_range(option_name<"budget-us">, *budget.time_us, 1, max_budget_us);
  if (budget.blocks_left_out) check_range(option_name<"blocks-left-out">, *budget.blocks_left_out, 0, 100);
  if (budget.is_set() && !algorithm.takes_budget)
    throw InvalidArgument("{} {} can't stop early; {} and {} need auto, maxscore or bmp", option_name<"algorithm">,
                          algorithm.name, option_name<"budget-us">, option_name<"blocks-left-out">);
  QueryAlgorithm limited = algorithm;
  limited.budget = budget;
  return limited;
}

void check_whole_results(const IndexReader& index, const QueryAlgorithm& algorithm) {
  if (algorithm.matching != Matching::all_else_any || !index.manifest().shard || index.manifest().shard->count == 1)
    return;
  throw InvalidArgument("{}: shard {} of {} alone can't answer {}, which needs all shards; name all shards",
                        index.name(), index.manifest().shard->number, index.manifest().shard->count, algorithm.name);
}

}  // namespace quern
