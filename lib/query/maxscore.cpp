#include "quern/query/algorithm.hpp"
#include "quern/query/window_union.hpp"

namespace quern {

void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  WindowUnion windows(context, lists, top);
  windows.probe();
  windows.finish();
}

}  // namespace quern
