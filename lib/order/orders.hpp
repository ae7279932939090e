#pragma once
#include "quern/order/order.hpp"

namespace quern {

/// Documents as they stand in the corpus.
const OrderMethod& natural_order();
/// Lexicographic by reversed host, then path; documents without a URL last, as they stand in the corpus.
const OrderMethod& url_order();
/// By falling global score (global_score.hpp), ties by URL, then by docno.
const OrderMethod& score_order();
/// Documents that share terms near each other (bisection.hpp), where that leaves a choice in the URL order.
const OrderMethod& bisection_order();
/// A permutation drawn with a seed: the order that helps nobody, to compare with.
const OrderMethod& random_order();

}  // namespace quern
