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

/// A graph of links, by target (compressed sparse rows): 4 bytes per edge.
struct InLinks {
  std::vector<std::uint64_t> begins;       ///< where each document's row begins in `sources`, and the end
  std::vector<docid_t> sources;            ///< row by row, the documents that link to the row's: distinct, rising
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return sources.size(); }
  std::span<const docid_t> row(docid_t document) const {
    return {sources.data() + begins[document], sources.data() + begins[document + std::size_t{1}]};
  }
};

/// The graph of these edges between documents below `documents`, each edge once. Throws InvalidArgument, with the size,
/// if the memory budget can't hold it and compute_pagerank().
InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);

/// Cuts the rows into runs with about the same number of edges and rows, as work for threads: the first row of each
/// run, and the end. The runs depend on the graph alone, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

/// A graph of links and its source.
struct ReadGraph {
  InLinks graph;
  LinkCounts counts;
  std::string file_hash;  ///< hash_text() of a link file's bytes, decompressed; empty for a collection
};

/// The links between a collection's documents, from their pages.
ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources);

/// The links of a file (formats/tables/link_file.md) between a collection's documents.
ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources);

/// The links of a file without a collection: its names become documents 0, 1, 2 … in the order of their first
/// occurrence. The graph has `documents` documents, or one per name if there are more names.
ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources);

}  // namespace quern
