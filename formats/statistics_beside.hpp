#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"

namespace quern {

/// Statistics in which terms are looked up, such as those that lie beside the index of a shard with PageRank: scores
/// need the counts of all terms of a query, also of those that are in other shards alone. Many threads may ask at once.
class StatisticsBeside {
 public:
  /// Throws InvalidArgument if the file is missing, or not the one that the shard was built with.
  static StatisticsBeside open(const IndexReader& shard);
  explicit StatisticsBeside(StatisticsReader statistics);

  const StatisticsReader& statistics() const { return statistics_; }
  /// Nothing if no document has the term.
  std::optional<TermCounts> find(std::string_view term) const;

 private:
  StatisticsReader statistics_;
  TermDictionary terms_;
};

/// Where the statistics of a shard are, if it has any: `index_path` is its folder, or the file in it.
std::string statistics_path(const std::string& index_path);

}  // namespace quern
