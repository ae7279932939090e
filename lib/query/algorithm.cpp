#include "quern/query/algorithm.hpp"

#include "quern/core/named.hpp"
#include "quern/query/list_window.hpp"
#include "quern/query/window_union.hpp"

namespace quern {
namespace {

/// `or` prunes nothing, so its windows only need to stay in the first-level cache.
constexpr docid_t min_or_window = 4096;

/// Adds the term scores of all lists to the documents of a block of the first, and keeps those that are in all lists.
static_assert(sizeof(WeightedList) + sizeof(ListWindow) + 1024 <= query_list_bytes, "a decoder takes less than 1 KiB");

void intersect_block(const ScoringContext& context, std::vector<ListWindow>& lists,
                     std::vector<ScoredDocument>& documents) {
  context.visit(0, documents);
  if (lists.size() > 1) {
    lists[1].intersect(documents);
    context.visit(1, documents);
  }
  // The first list's term scores come second, when fewer documents are left: the order of two numbers makes no
  // difference to their sum. They include the static scores.
  lists[0].intersect(documents);
  for (std::size_t i = 2; i < lists.size() && !documents.empty(); ++i) {
    lists[i].intersect(documents);
    context.visit(i, documents);
  }
}

}  // namespace

const std::vector<QueryAlgorithm>& all_algorithms() {
  static const std::vector<QueryAlgorithm> algorithms = {
      {"maxscore", "documents with any of the terms; skips windows and postings that cannot matter", Matching::any,
       run_maxscore},
      {"bmw", "documents with any of the terms, by block-max WAND", Matching::any, run_bmw},
      {"wand", "documents with any of the terms, by WAND", Matching::any, run_wand},
      {"or", "documents with any of the terms, every posting scored", Matching::any, run_or},
      {"and", "documents with all of the terms", Matching::all, run_and},
      {"and-or", "documents with all of the terms or, if fewer than k have them, with any of the terms",
       Matching::all_else_any, run_and_or},
  };
  return algorithms;
}

const QueryAlgorithm& algorithm_named(std::string_view name) {
  return find_named(all_algorithms(), name, "query algorithm");
}

void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (const WeightedList& list : lists) windows.emplace_back(context, list);
  const auto next_docid = [&] {
    docid_t next = end_docid;
    for (const ListWindow& list : windows) next = std::min(next, list.next_docid());
    return next;
  };
  const Windows cut(context.index->num_documents(), min_or_window);
  WindowScores scores(cut, context.nothing());
  std::vector<ScoredDocument> found;
  found.reserve(cut.size());
  for (docid_t next = next_docid(); next != end_docid; next = next_docid()) {
    if (top.full() && context.none_above(next, top.worst().score)) return context.stop_early(next);
    const docid_t begin = cut.begin(cut.of(next)), end = cut.end(cut.of(next));
    for (ListWindow& list : windows) list.add_to(begin, end, scores.data());
    // Later documents lose ties, so those that don't pass the threshold need not be added.
    scores.take_above(top.full() ? top.worst().score : context.nothing(), begin, end, found);
    for (const ScoredDocument& document : found) top.add(document.docid, document.score);
  }
}

void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  WindowUnion windows(context, lists, top);
  windows.probe();
  windows.finish();
}

void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  docid_t next = context.first;
  // Before any list is decoded; without earlier documents, `top` is not full.
  if (top.full() && context.none_above(next, top.worst().score)) return context.stop_early(next);
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) windows.emplace_back(context, lists[i], i == 0);
  std::vector<ScoredDocument> documents;
  documents.reserve(max_block_size);
  while (windows[0].take_block(next, documents)) {
    if (context.may_stop(windows[0].postings_before()) && top.full() &&
        context.none_above(documents.front().docid, top.worst().score))
      return context.stop_early(next);
    next = documents.back().docid + 1;
    intersect_block(context, windows, documents);
    for (const ScoredDocument& document : documents) top.add(document.docid, document.score);
    if (context.visits) continue;
    // The next common document is not before the next posting of any list.
    for (const ListWindow& list : windows) next = std::max(next, list.next_docid());
    if (next == end_docid) return;
    if (top.full() && context.none_above(next, top.worst().score)) return context.stop_early(next);
  }
}

void run_and_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  if (context.all_terms_found) run_and(context, lists, top);
  if (top.full()) return;
  top.clear();
  run_maxscore(context, lists, top);
}

}  // namespace quern
