#include <algorithm>

#include "quern/search/algorithm.hpp"

namespace quern {
namespace {

/// Queries of so many terms have nearly all documents, and their lists' upper bounds say little.
constexpr std::size_t many_terms = 10;
/// Some of their documents can be skipped if results are a smaller part of the collection than this one, and if lists
/// have so many postings for each of its documents.
constexpr std::size_t small_part = 512, many_postings = 2;
/// Of a longer list, most blocks can be skipped, which pays for looking at all their rows first; of one that is so many
/// times as long as the results at least.
constexpr std::uint64_t short_list = 1024, times_results = 40;

/// The fastest union for a query, as measured in tests/bench/queries.md for collections of 32,000 to 2.5 million
/// documents. All unions have the same results.
auto choose_union(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  if (lists.size() == 1)
    return lists.front().list.df < std::max<std::uint64_t>(short_list, times_results * k) ? run_wand : run_bmw;
  if (lists.size() < many_terms) return run_wand;
  const std::uint64_t documents = context.index->num_documents();
  if (k >= documents / small_part) return run_or;
  std::uint64_t postings = 0;
  for (const WeightedList& list : lists) postings += list.list.df;
  return postings < many_postings * documents ? run_or : run_maxscore;
}

}  // namespace

void run_auto(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  choose_union(context, lists, top.k())(context, lists, top);
}

}  // namespace quern
