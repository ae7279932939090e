#include "quern/search/union_cost.hpp"

#include <cmath>
#include <limits>

#include "quern/search/list_bitmaps.hpp"
#include "quern/search/scoring.hpp"

namespace quern {
namespace {

/// The mean impact in a list, as a part of its greatest one; impacts differ from their mean by half of it.
constexpr double mean_impact = 0.45, impact_deviation = 0.5 * mean_impact;
/// High scores lie farther from the mean than those of a normal distribution, in standard deviations.
constexpr double tail = 1.3;
/// Candidates for each document that is among the k best at some time.
constexpr double candidates_per_result = 3;

// Costs. `or`: per document of the collection, besides its postings. The others: per list; per posting of an essential
// list; in the other lists, per posting decoded and per document looked up.
constexpr double per_document = 1.0 / 32, per_list = 40, per_essential = 1.25, per_decoded = 0.5, per_look_up = 2.5;
/// `bmp`: per document of the collection, and per document and list with a bitmap.
constexpr double per_bitmap_document = 0.05, per_bit = 1.0 / 48;
/// Upper bounds of windows cost this per posting and save this part of a posting in essential lists.
constexpr double per_bounded = 0.16, saved_by_windows = 0.875;

double max_term_score(const ScoringContext& context, const WeightedList& list) {
  const ListScorer scorer(context, list);
  return list.list.is_short() ? scorer.term_score_of(1) : scorer.long_list_bound(list.list);
}

/// How the sums of some lists' term scores are distributed over all documents, as if terms occurred independently.
struct Sums {
  double mean = 0, variance = 0;

  void add(double share, double max) {
    mean += share * mean_impact * max;
    variance += share * max * max * ((1 - share) * mean_impact * mean_impact + impact_deviation * impact_deviation);
  }
  /// The sum that a part of the documents exceeds.
  double exceeded_by(double part) const {
    return mean + tail * std::sqrt(-2 * std::log(2 * std::min(0.5, part)) * variance);
  }
  /// The part of the documents with sums above `sum`: the inverse.
  double part_above(double sum) const {
    const double deviations = std::max(0.0, sum - mean) / (tail * std::sqrt(variance));
    return 0.5 * std::exp(-0.5 * deviations * deviations);
  }
};

double bitmap_cost(const ScoringContext& context, std::span<const WeightedList> lists) {
  if (!context.bitmaps) return std::numeric_limits<double>::infinity();
  const double documents = context.index->num_documents();
  double cost = per_bitmap_document * documents;
  for (const WeightedList& list : lists)
    cost += ListBitmap::suits(*context.index, list.list) ? per_bit * documents : static_cast<double>(list.list.df);
  return cost;
}

/// Of looking up candidates in a list.
double look_up_cost(const ScoringContext& context, double df, double candidates) {
  return per_decoded * std::min(df, candidates * context.index->block_size()) + per_look_up * std::min(df, candidates);
}

}  // namespace

UnionCosts union_costs(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  const double documents = context.index->num_documents(), results = static_cast<double>(k);
  Sums sums;
  double postings = 0, rest = 0;
  for (const WeightedList& list : lists) {
    const double max = max_term_score(context, list);
    sums.add(static_cast<double>(list.list.df) / documents, max);
    postings += static_cast<double>(list.list.df);
    rest += max;
  }
  const double threshold = std::max<double>(context.above, sums.exceeded_by(results / documents));
  UnionCosts costs;
  costs.exhaustive = postings + per_document * documents;
  const double matches = std::max(results, std::min(documents, postings));
  const double few = candidates_per_result * results * (1 + std::log(matches / results));
  // Lists are essential until the rest's bounds can't reach the threshold; later ones are read where the sum may.
  Sums before;
  double summed = 0, looked_up = 0;
  for (const WeightedList& list : lists) {
    const auto df = static_cast<double>(list.list.df);
    const double max = max_term_score(context, list);
    if (summed == 0 || rest > threshold) {
      summed += df;
    } else {
      const double most = std::max(few, documents * before.part_above(threshold - rest));
      looked_up += look_up_cost(context, df, std::min(summed, few));
      costs.most_pivots += look_up_cost(context, df, std::min(summed, most));
    }
    before.add(df / documents, max);
    rest -= max;
  }
  const double added = per_list * static_cast<double>(lists.size()) + per_essential * summed;
  costs.pivots = added + looked_up;
  costs.most_pivots += added;
  costs.windows = costs.pivots + per_bounded * postings - saved_by_windows * summed;
  costs.bitmaps = bitmap_cost(context, lists);
  return costs;
}

}  // namespace quern
