#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/io/spool.hpp"

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

}  // namespace quern
