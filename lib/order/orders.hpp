#pragma once
#include "quern/order/order.hpp"

namespace quern {

/// Documents as they stand in the corpus.
const OrderMethod& natural_order();
/// Lexicographic by reversed host, then path; documents without a URL last, as they stand in the corpus.
const OrderMethod& url_order();
/// A permutation drawn with a seed: the order that helps nobody, to compare with.
const OrderMethod& random_order();

}  // namespace quern
