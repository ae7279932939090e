#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/impact_sections.hpp"

/// Cuts an existing index into shards without its collection, for example one per GPU.
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
  /// For build_index().
  const CollectionContext& whole() const { return whole_; }

 private:
  CollectionContext::Counts counts() const;

  StatisticsReader statistics_;
  std::optional<Scales> scales_;
  CollectionContext whole_;
};

/// Writes an index's statistics, which StatisticsBeside needs for its shards.
void write_statistics_of_index(const IndexReader& index, const Resources& resources, File& out);

/// Writes a shard of an index, cut by cut_into_shards(); the bytes are reproducible. `statistics` are those of the
/// index if it has PageRank, otherwise null. Throws InvalidArgument if the index is a shard itself, or the shard would
/// be empty.
BuildReport cut_index(const IndexReader& index, const ShardChoice& choice, const StatisticsReader* statistics,
                      const Resources& resources, File& out);

// Postings per document, the basis for cutting shards. The counts don't depend on threads or memory.

/// For each document of a collection: the number of distinct terms in title and body, or of its weights. Reads all
/// forward lists, with as many threads as memory allows, but documents that span chunks with one. Throws
/// InvalidArgument if memory can't hold the counts.
std::vector<std::uint32_t> count_postings(const CollectionReader& collection, const Resources& resources);

/// Postings of ranges of an index's documents.
struct RangeCounts {
  std::vector<std::uint64_t> postings;  ///< of each range of docIDs, in order
  docid_t documents = 1;                ///< documents per range; the last may have fewer
};

/// Counts an index's postings in at most 2^20 ranges. Decodes short lists; for long ones, counts a block's postings in
/// the middle of its docIDs, so a cut is off by less than half a block per long list, in either direction.
RangeCounts count_postings(const IndexReader& index);

/// Limit of an order's shards: their first docIDs are in the manifest, and each shard is a file or two.
inline constexpr std::size_t max_shards = 65536;

/// The first docIDs of `count` shards with nearly equal numbers of postings, where a document counts as one more:
/// `postings` returns those of a docID. Each shard has a document, unless there are more shards than documents; then
/// some are empty.
std::vector<docid_t> cut_into_shards(docid_t documents, std::size_t count,
                                     const std::function<std::uint64_t(docid_t)>& postings);
/// Cuts an order into shards: `postings` by document of its collection, `documents` by docID.
std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> postings, std::span<const docid_t> documents,
                                     std::size_t count);
/// Cuts an index into shards that begin with ranges, unless there are fewer ranges than shards.
std::vector<docid_t> cut_into_shards(const RangeCounts& counts, docid_t documents, std::size_t count);

}  // namespace quern
