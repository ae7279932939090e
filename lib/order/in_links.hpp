#pragma once
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/order/page_links.hpp"

/// Graphs of links by target (compressed sparse rows), 4 bytes per edge: in memory, or in a work file.
namespace quern {

/// In memory.
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

/// In a work file: the same rows, which are read from front to back, each run of them (row_runs()) by itself.
struct SpooledInLinks {
  RecordSpool<docid_t> rows;               ///< sources of the first document, end_docid, sources of the second …
  std::vector<docid_t> runs;               ///< the first row of each run, and the end
  std::vector<std::uint64_t> run_begins;   ///< where they are in `rows`, and the end
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return rows.count() - documents(); }
};

using PageGraph = std::variant<InLinks, SpooledInLinks>;

/// The graph of these edges between documents below `documents`, each edge once.
InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);
SpooledInLinks spool_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);

/// The graph in memory if the budget holds it and compute_pagerank(), else in a work file. Throws InvalidArgument as
/// check_pagerank_memory() does; messages call what the edges come from `name`.
PageGraph make_page_graph(const std::string& name, const EdgeSpool& edges, docid_t documents,
                          const Resources& resources);

/// Throws InvalidArgument, with the name and the size, if the memory budget can't hold PageRank of as many documents:
/// 20 bytes each.
void check_pagerank_memory(const std::string& name, std::uint64_t documents, const Resources& resources);

/// Cuts the rows into runs with about the same number of edges and rows, as work for threads: the first row of each
/// run, and the end. The runs depend on the graph alone, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

}  // namespace quern
