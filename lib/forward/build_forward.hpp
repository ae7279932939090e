#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Which index a forward file is made for.
struct ForwardTarget {
  std::span<const docid_t> documents;  ///< the collection's document of each docID
  std::string index_hash;              ///< content hash of the index's container, 16 hexadecimal digits
};

/// What became of a forward file.
struct ForwardReport {
  ForwardManifest manifest;
  std::uint64_t file_bytes = 0;
  std::uint64_t anchors = 0;  ///< links between documents whose texts are in the file
};

/// Throws InvalidArgument if the corpus gave weights instead of tokens, and if the budget can't hold the tables that
/// must be in memory: 24 bytes per document, a bit and a half per term, those of the collection, and 16 MB.
void check_forward_memory(const CollectionReader& collection, const Resources& resources);

/// Writes the forward file of an index that was built from the collection: each document's title, body, URL, and the
/// texts of the links that lead to it from other documents, by the linking document's docID. The bytes depend on
/// collection and order alone. Throws InvalidArgument as check_forward_memory() does.
ForwardReport build_forward(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources,
                            File& out);

}  // namespace quern
