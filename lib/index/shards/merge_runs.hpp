#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"

namespace quern {

struct MergeRunsOptions {
  std::size_t k = 10;  ///< results per query, as many as each shard was asked for
  std::string tag;     ///< empty: that of the first run
  /// The queries' order. Where it is empty, that of the runs: a query that only later runs have comes after the one
  /// before it there.
  std::vector<std::string> qids;
};

struct MergeRunsReport {
  std::uint64_t queries = 0, results_read = 0, results = 0;
};

/// Merges TREC runs of the same queries over the shards of an index, which come in the order of the shards: the run
/// over the whole, as text in pieces. Results are ordered by score; of equal ones, those of earlier shards come first,
/// as their docIDs do. Sorts within half of the memory budget, on disk if necessary. Throws InvalidArgument if two runs
/// are the same, if the results of a query are not together in a run or their scores rise, or if `qids` lacks one;
/// CorruptFile for lines that are no run's.
MergeRunsReport merge_runs(const std::vector<std::string>& paths, const MergeRunsOptions& options,
                           const Resources& resources, const std::function<void(std::string_view)>& write);

}  // namespace quern
