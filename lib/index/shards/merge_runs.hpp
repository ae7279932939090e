#pragma once
#include "quern/core/resources.hpp"

namespace quern {

struct MergeRunsOptions {
  std::size_t k = 10;  ///< results per query, the same as for each shard
  std::string tag;     ///< empty: that of the first run
  /// The queries' order. Empty: the runs' order, where a query that only later runs contain follows its predecessor
  /// there.
  std::vector<std::string> qids;
};

struct MergeRunsReport {
  std::uint64_t queries = 0, results_read = 0, results = 0;
};

/// Merges TREC runs of the same queries over the shards of an index, given in shard order, as text, into the run of
/// the whole index. Results are sorted by score; ties keep shard order, and so docID order. Sorts within half of the
/// memory budget, on disk if necessary. Throws InvalidArgument if two runs are equal, if a query's results aren't
/// contiguous in a run or their scores increase, or if `qids` lacks a query; CorruptFile for malformed lines.
MergeRunsReport merge_runs(const std::vector<std::string>& paths, const MergeRunsOptions& options,
                           const Resources& resources, const std::function<void(std::string_view)>& write);

}  // namespace quern
