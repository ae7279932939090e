#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// The shard of a forward file.
struct ForwardShard {
  DocidRange docids;                   ///< of the order
  const IndexReader& index;            ///< of these documents
  const StatisticsBeside& statistics;  ///< of all documents
};

/// The index of a forward file.
struct ForwardTarget {
  std::span<const docid_t> documents;   ///< document number in the collection, by docID
  std::string index_hash;               ///< content hash of the index's container, 16 hexadecimal digits
  const ForwardShard* shard = nullptr;  ///< null: the index contains all documents
};

/// The result of writing a forward file.
struct ForwardReport {
  ForwardManifest manifest;
  std::uint64_t file_bytes = 0;
  /// Links to documents of the index whose texts are in the file; nullopt for merged or cut files.
  std::optional<std::uint64_t> anchors;
};

/// Throws InvalidArgument if the corpus has weights instead of tokens, or if the budget can't hold the tables: 26 bytes
/// per document, a bit and a half per term, the collection's tables, and 16 MB.
void check_forward_memory(const CollectionReader& collection, const Resources& resources);

/// Writes the forward file of an index built from the collection: each document's title, body, URL, and the texts of
/// links to it from other documents, by the linking document's docID. The bytes depend only on collection and order.
/// For a shard, links come from all documents of the collection and count for all of them. Throws InvalidArgument like
/// check_forward_memory().
ForwardReport build_forward(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources,
                            File& out);

}  // namespace quern
