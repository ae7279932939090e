#pragma once
#include <span>
#include <vector>

#include "quern/api/weighted_term.hpp"
#include "quern/formats/queries/query_vector.hpp"

namespace quern::api {

/// The terms of a query, each once, as the text of a vector must have them. A weight that can't be is not added to
/// another, and so refused later.
std::vector<QueryTerm> query_terms(std::span<const WeightedTerm> terms);

}  // namespace quern::api
