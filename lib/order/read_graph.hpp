#pragma once
#include <string>

#include "quern/formats/collection.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// A graph of links, and where it came from.
struct ReadGraph {
  InLinks graph;
  LinkCounts counts;
  std::string file_hash;  ///< hash_text() of a link file's bytes, decompressed; empty for a collection
};

/// The links between a collection's documents, from their pages.
ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources);

/// The links of a file (formats/link_file.md) between a collection's documents.
ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources);

/// The links of a file without a collection: its names stand for documents 0, 1, 2 … as they come, and there are
/// `documents` in all, or as many as there are names where that is more.
ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources);

}  // namespace quern
