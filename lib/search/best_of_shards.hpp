#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "quern/search/top_k.hpp"

namespace quern {

/// Adds a shard's results to those of the shards before it, whose docIDs are lower, and keeps the k best: `of_shard`,
/// best first, with docIDs that count from `first_docid`. Of equal scores the lower docID comes first, as in every
/// result.
void add_results_of_shard(std::vector<ScoredDocument>& best, std::span<const ScoredDocument> of_shard,
                          docid_t first_docid, std::size_t k);

}  // namespace quern
