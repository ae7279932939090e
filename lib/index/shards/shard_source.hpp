#pragma once
#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/impact_sections.hpp"

namespace quern {

/// The shard to build: its number, from 1, and the count of shards.
struct ShardChoice {
  std::uint32_t number = 1, count = 1;
};

/// A shard's input from files of the whole index: the order, the statistics, and the scale of quantized impacts.
class ShardSource {
 public:
  /// Throws InvalidArgument if the order isn't cut into that many shards.
  ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
              std::optional<Scales> scales);
  ShardSource(const ShardSource&) = delete;
  ShardSource& operator=(const ShardSource&) = delete;

  DocidRange docids() const { return whole_.docids; }
  const StatisticsReader& statistics() const { return statistics_; }
  /// Throws InvalidArgument unless the statistics match these collections and, for quantized impacts, the scale covers
  /// all of them with the same k1 and b.
  void check(const CollectionReader& collection, const BuildOptions& options) const;
  /// For a single call of build_index().
  const CollectionContext& whole();

 private:
  TermCounts counts_of(std::string_view term);

  StatisticsReader statistics_;
  std::optional<Scales> scales_;
  CollectionContext whole_;
  std::optional<DictionaryScan> scan_;
  DictionaryEntry entry_;
  bool has_entry_ = false;
};

}  // namespace quern
