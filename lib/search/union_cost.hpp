#pragma once
#include "quern/search/algorithm.hpp"

namespace quern {

/// What the unions of a query probably cost, in units of adding a posting to its document's sum.
struct UnionCosts {
  double exhaustive = 0;   ///< `or`
  double pivots = 0;       ///< `wand`, with a few candidates for each result
  double most_pivots = 0;  ///< `wand`, with all likely candidates
  double windows = 0;      ///< `maxscore`
  double bitmaps = 0;      ///< `bmp`; infinite if it isn't possible
};

/// Estimates the costs for two lists or more, in the order of summation, from their lengths and upper bounds; reads no
/// postings. The score of the k-th result is guessed as if terms occurred independently, with typical impacts. It says
/// which lists are essential, so that all their postings are added up. How many candidates are looked up in the others
/// is less certain: a few for each result, as with short queries of rare and frequent words; or all documents whose
/// sums so far and the later lists' bounds reach that score, as with many terms of similar weights, whose number grows
/// with the collection. Filters are not considered. The constants are the same for all collections; they fit the logs
/// of tests/bench/queries.md.
UnionCosts union_costs(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k);

}  // namespace quern
