#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"

namespace quern {

/// Term look-ups in the statistics beside a shard with PageRank: its scores need the counts of all query terms,
/// including those only in other shards. Thread-safe.
class StatisticsBeside {
 public:
  /// Throws InvalidArgument if the file is missing, or isn't the one that the shard was built with.
  static StatisticsBeside open(const IndexReader& shard);
  explicit StatisticsBeside(StatisticsReader statistics);

  const StatisticsReader& statistics() const { return statistics_; }
  /// nullopt if no document contains the term.
  std::optional<TermCounts> find(std::string_view term) const;

 private:
  StatisticsReader statistics_;
  TermDictionary terms_;
};

/// Path of a shard's statistics, if it has any. `index_path` is its folder or the file in it.
std::string statistics_path(const std::string& index_path);

}  // namespace quern
