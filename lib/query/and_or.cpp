#include "quern/query/algorithm.hpp"

namespace quern {

void run_and_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  if (context.all_terms_found) run_and(context, lists, top);
  if (top.full()) return;
  top.clear();
  run_maxscore(context, lists, top);
}

}  // namespace quern
