#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/search/algorithm.hpp"

namespace quern {

/// Throws InvalidArgument if the index is one of several shards, and the algorithm's results depend on those of all:
/// and-or needs to know how many documents of the others have all terms.
void check_whole_results(const IndexReader& index, const QueryAlgorithm& algorithm);

}  // namespace quern
