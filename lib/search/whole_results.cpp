#include "quern/search/whole_results.hpp"

#include <fmt/format.h>

namespace quern {

void check_whole_results(const IndexReader& index, const QueryAlgorithm& algorithm) {
  if (algorithm.matching != Matching::all_else_any || !index.manifest().shard || index.manifest().shard->count == 1)
    return;
  throw InvalidArgument(fmt::format("{}: is shard {} of {}, and {} depends on the results of all; name all shards",
                                    index.name(), index.manifest().shard->number, index.manifest().shard->count,
                                    algorithm.name));
}

}  // namespace quern
