#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/spool.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

struct LinkEdge {
  docid_t from, to;
};

/// Edges on their way into a graph: on disk, since memory has space for them only once.
using EdgeSpool = RecordSpool<LinkEdge>;

/// A graph of links, by target (compressed sparse rows): 4 bytes an edge.
struct InLinks {
  std::vector<std::uint64_t> begins;       ///< for each document and the end: where its row begins in `sources`
  std::vector<docid_t> sources;            ///< in each row the documents that link there: distinct, rising
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return sources.size(); }
  std::span<const docid_t> row(docid_t document) const {
    return {sources.data() + begins[document], sources.data() + begins[document + std::size_t{1}]};
  }
};

/// The graph of these edges, between documents below `documents`; those that came twice are in it once. Throws
/// InvalidArgument, with the size, where the memory budget has no room for it and for compute_pagerank().
InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);

/// Rows in runs of about as many edges and rows each, for threads to take: first row of each, and the end. They depend
/// on the graph alone, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

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
