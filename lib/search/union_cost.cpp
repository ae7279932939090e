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
constexpr double per_bitmap_document = 0.1, per_bit = 1.0 / 48;
/// Upper bounds of windows cost this per posting and save this part of a posting in essential lists.
constexpr double per_bounded = 0.16, saved_by_windows = 0.875;

double max_term_score(const ScoringContext& context, const WeightedList& list) {
  const ListScorer scorer(context, list);
  return list.list.is_short() ? scorer.term_score_of(1) : scorer.long_list_bound(list.list);
}

/// The score of the k-th result.
double likely_threshold(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  const double documents = context.index->num_documents();
  double mean = 0, variance = 0;
  for (const WeightedList& list : lists) {
    const double share = static_cast<double>(list.list.df) / documents, max = max_term_score(context, list);
    mean += share * mean_impact * max;
    variance += share * max * max * ((1 - share) * mean_impact * mean_impact + impact_deviation * impact_deviation);
  }
  const double part = std::min(0.5, static_cast<double>(k) / documents);
  const double deviations = tail * std::sqrt(-2 * std::log(2 * part));
  return std::max<double>(context.above, mean + deviations * std::sqrt(variance));
}

double bitmap_cost(const ScoringContext& context, std::span<const WeightedList> lists) {
  if (!context.bitmaps) return std::numeric_limits<double>::infinity();
  const double documents = context.index->num_documents();
  double cost = per_bitmap_document * documents;
  for (const WeightedList& list : lists)
    cost += ListBitmap::suits(*context.index, list.list) ? per_bit * documents : static_cast<double>(list.list.df);
  return cost;
}

}  // namespace

UnionCosts union_costs(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  const double threshold = likely_threshold(context, lists, k);
  std::size_t essential = lists.size();
  for (double rest = 0; essential > 1; --essential)
    if ((rest += max_term_score(context, lists[essential - 1])) > threshold) break;
  double postings = 0, summed = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    postings += static_cast<double>(lists[i].list.df);
    if (i + 1 == essential) summed = postings;
  }
  const double documents = context.index->num_documents(), results = static_cast<double>(k);
  const double matches = std::max(results, std::min(documents, postings));
  const double candidates = std::min(summed, candidates_per_result * results * (1 + std::log(matches / results)));
  UnionCosts costs;
  costs.exhaustive = postings + per_document * documents;
  costs.pivots = per_list * static_cast<double>(lists.size()) + per_essential * summed;
  for (const WeightedList& list : lists.subspan(essential)) {
    const auto df = static_cast<double>(list.list.df);
    costs.pivots +=
        per_decoded * std::min(df, candidates * context.index->block_size()) + per_look_up * std::min(df, candidates);
  }
  costs.windows = costs.pivots + per_bounded * postings - saved_by_windows * summed;
  costs.bitmaps = bitmap_cost(context, lists);
  return costs;
}

}  // namespace quern
