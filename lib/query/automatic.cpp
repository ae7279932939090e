#include <algorithm>

#include "quern/query/algorithm.hpp"

namespace quern {
namespace {

/// Queries of so many terms have nearly all documents, and their lists' upper bounds say little.
constexpr std::size_t many_terms = 10;
/// Their results are a small part of the collection if they are less than this one: then some documents can be skipped.
constexpr std::size_t small_part = 512;
/// Of a longer list, most blocks can be skipped, which pays for looking at all their rows first.
constexpr std::size_t short_list_blocks = 64;

/// The fastest union for a query, as measured in tests/bench/queries.md for collections of 32,000 to 2.5 million
/// documents. All unions have the same results.
auto choose_union(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  if (lists.size() == 1)
    return lists.front().list.num_blocks(context.index->block_size()) < short_list_blocks ? run_wand : run_bmw;
  if (lists.size() < many_terms) return run_wand;
  return k < context.index->num_documents() / small_part ? run_maxscore : run_or;
}

}  // namespace

void run_auto(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  choose_union(context, lists, top.k())(context, lists, top);
}

}  // namespace quern
