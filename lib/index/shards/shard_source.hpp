#pragma once
#include <optional>
#include <string>

#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/whole_of_shard.hpp"

namespace quern {

/// Which shard is to be built: the number-th of so many, from 1.
struct ShardChoice {
  std::uint32_t number = 1, count = 1;
};

/// What a shard takes from files of the whole: the order, its statistics, and the scale of quantized impacts.
class ShardSource {
 public:
  /// Throws InvalidArgument if the order is not cut into so many shards.
  ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
              std::optional<Scales> scales);
  ShardSource(const ShardSource&) = delete;
  ShardSource& operator=(const ShardSource&) = delete;

  DocidRange docids() const { return whole_.docids; }
  const StatisticsReader& statistics() const { return statistics_; }
  /// Throws InvalidArgument unless the statistics are of these collections, and the scale, if options ask for quantized
  /// impacts, of all of them and of the same k1 and b.
  void check(const CollectionReader& collection, const BuildOptions& options) const;
  /// For build_index(), once.
  const WholeOfShard& whole();

 private:
  TermCounts counts_of(std::string_view term);

  StatisticsReader statistics_;
  std::optional<Scales> scales_;
  WholeOfShard whole_;
  std::optional<DictionaryScan> scan_;
  DictionaryEntry entry_;
  bool has_entry_ = false;
};

}  // namespace quern
