#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"

namespace quern {

/// All shards of an index in docID order, or any single index as one shard.
class IndexShards {
 public:
  /// Takes indexes in any order. Throws InvalidArgument unless they are a single index, or all shards of one order,
  /// built with the same statistics and options.
  explicit IndexShards(std::vector<IndexReader> indexes);
  static IndexShards open(const std::vector<std::string>& paths);

  std::size_t size() const { return shards_.size(); }
  const IndexReader& operator[](std::size_t i) const { return shards_[i]; }
  auto begin() const { return shards_.begin(); }
  auto end() const { return shards_.end(); }

  /// What messages call the index.
  std::string name() const;
  /// The collection hash of the whole index.
  std::string collection_hash() const;
  /// Documents of all shards.
  docid_t num_documents() const;
  /// Postings of all shards.
  std::uint64_t num_postings() const;
  /// The docID of a shard's first document in the whole index.
  docid_t first_docid(std::size_t shard) const {
    return shards_.size() == 1 ? 0 : static_cast<docid_t>(shards_[shard].manifest().docid_base);
  }
  struct Place {
    const IndexReader& index;
    docid_t docid;          ///< in the shard
    std::size_t shard = 0;  ///< index of the shard
  };
  /// Shard and docID of a document.
  Place place(docid_t docid) const;
  /// The docno of a document, and the first document with a docno, as those of IndexReader.
  std::string_view docno(docid_t docid) const;
  std::optional<docid_t> find_docno(std::string_view docno) const;

 private:
  std::vector<IndexReader> shards_;
};

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

}  // namespace quern
