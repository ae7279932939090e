#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/statistics_beside.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// The shard that a forward file is made for.
struct ForwardShard {
  DocidRange docids;                   ///< of the order
  const IndexReader& index;            ///< of these documents
  const StatisticsBeside& statistics;  ///< of all documents
};

/// Which index a forward file is made for.
struct ForwardTarget {
  std::span<const docid_t> documents;   ///< the collection's document of each docID
  std::string index_hash;               ///< content hash of the index's container, 16 hexadecimal digits
  const ForwardShard* shard = nullptr;  ///< null: the index is of all documents
};

/// What became of a forward file.
struct ForwardReport {
  ForwardManifest manifest;
  std::uint64_t file_bytes = 0;
  /// Links to documents of the index whose texts are in the file; not known of one that is made of others.
  std::optional<std::uint64_t> anchors;
};

/// Throws InvalidArgument if the corpus gave weights instead of tokens, and if the budget can't hold the tables that
/// must be in memory: 26 bytes per document, a bit and a half per term, those of the collection, and 16 MB.
void check_forward_memory(const CollectionReader& collection, const Resources& resources);

/// Writes the forward file of an index that was built from the collection: each document's title, body, URL, and the
/// texts of the links that lead to it from other documents, by the linking document's docID. The bytes depend on
/// collection and order alone. Of a shard, links come from all documents of the collection, and are counted to all of
/// them. Throws InvalidArgument as check_forward_memory() does.
ForwardReport build_forward(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources,
                            File& out);

}  // namespace quern
