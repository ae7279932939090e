#pragma once
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// All shards of an index in the order of their docIDs; or a single index, of any kind, as one.
class IndexShards {
 public:
  /// In any order. Throws InvalidArgument unless these are a single index, or all shards of one order, built with the
  /// same statistics and options.
  explicit IndexShards(std::vector<IndexReader> indexes);
  static IndexShards open(const std::vector<std::string>& paths);

  std::size_t size() const { return shards_.size(); }
  const IndexReader& operator[](std::size_t i) const { return shards_[i]; }
  auto begin() const { return shards_.begin(); }
  auto end() const { return shards_.end(); }

  /// Of all shards.
  docid_t num_documents() const;
  /// The docID, among those of all, of a shard's first document.
  docid_t first_docid(std::size_t shard) const {
    return shards_.size() == 1 ? 0 : static_cast<docid_t>(shards_[shard].manifest().docid_base);
  }
  struct Place {
    const IndexReader& index;
    docid_t docid;          ///< in it
    std::size_t shard = 0;  ///< its number here
  };
  /// Where a document is.
  Place place(docid_t docid) const;

 private:
  std::vector<IndexReader> shards_;
};

}  // namespace quern
