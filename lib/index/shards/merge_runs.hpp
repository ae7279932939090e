#pragma once
#include "quern/core/resources.hpp"

namespace quern {

struct MergeRunsOptions {
  std::size_t k = 10;  ///< results per query, the same as for each shard
  std::string tag;     ///< empty: that of the first run
  /// Calls its argument with the queries' ids, in the order that the run should have. Empty: the runs' order, where a
  /// query that only later runs contain follows its predecessor there.
  std::function<void(const std::function<void(std::string_view qid)>&)> for_each_qid;
};

struct MergeRunsReport {
  std::uint64_t queries = 0, results_read = 0, results = 0;
};

/// Merges TREC runs of the same queries over the shards of an index, given in shard order, as text, into the run of
/// the whole index. Results are sorted by score; ties keep shard order, and so docID order. Reads each run twice and
/// sorts within five eighths of the memory budget, on disk if necessary; 8 bytes per query stay in memory. Throws
/// InvalidArgument if a run isn't a regular file or is named twice, if a run or `for_each_qid` has two queries with one
/// id, if a run has a document twice in a query, if scores increase within a query, if `for_each_qid` lacks a query, or
/// if the queries don't fit in the budget; CorruptFile for malformed lines.
MergeRunsReport merge_runs(const std::vector<std::string>& paths, const MergeRunsOptions& options,
                           const Resources& resources, const std::function<void(std::string_view)>& write);

}  // namespace quern
