#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// A graph of links and its source.
struct ReadGraph {
  PageGraph graph;
  docid_t documents = 0;
  LinkCounts counts;
  std::string file_hash;  ///< hash_text() of a link file's bytes, decompressed; empty for a collection
};

/// The links between a collection's documents, from their pages.
ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources);

/// The links of a file (formats/tables/link_file.md) between a collection's documents.
ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources);

/// The links of a file without a collection: its names become documents 0, 1, 2 … in order of first occurrence. The
/// graph has `documents` documents, or one per name if there are more names.
ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources);

}  // namespace quern
