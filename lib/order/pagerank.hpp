#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

struct PagerankOptions {
  double damping = 0.85;          ///< as in Brin and Page
  double tolerance = 1e-9;        ///< iterations end when the ranks' absolute changes sum to less
  unsigned max_iterations = 500;  ///< more than any graph needs: each change is at most `damping` times the last
};

struct Pagerank {
  std::vector<double> ranks;  ///< of each document; they sum to 1
  unsigned iterations = 0;
  double last_change = 0;  ///< sum of the absolute changes in the last iteration
  bool converged = false;
};

/// Brin and Page: The Anatomy of a Large-Scale Hypertextual Web Search Engine (1998), 2.1.1, with ranks that sum to 1.
/// Documents without links give their rank to all documents equally. Gives the same bits for any number of threads and
/// both kinds of graphs. Takes 16 bytes per document besides the graph.
Pagerank compute_pagerank(const PageGraph& graph, const PagerankOptions& options, const Resources& resources);

/// Replaces each rank, finite and at least 0, by its value on the scale. `ranks` must not be empty.
void apply_scale(PagerankScale scale, std::span<float> ranks, const Resources& resources);

/// The source of PageRank.
enum class PagerankFrom {
  if_needed,   ///< links, if the order needs PageRank; otherwise nothing
  nothing,     ///< no PageRank
  links,       ///< the links between the collection's pages
  link_file,   ///< one link per line: formats/tables/link_file.md
  score_file,  ///< one document's score per line: formats/tables/score_file.md
};

struct PagerankInput {
  PagerankFrom from = PagerankFrom::if_needed;
  std::string file;  ///< path for link_file and score_file
};

/// Interprets users' options. `pagerank`: empty, none, links or the path of a score file; `links`: empty or the path of
/// a link file. Throws InvalidArgument if they contradict each other.
PagerankInput pagerank_input(const std::string& pagerank, const std::string& links);

/// The source of the documents' PageRank, for display and for manifests.
struct PagerankReport {
  PagerankOrigin origin;  ///< empty without PageRank
  // If PageRank was computed from links:
  LinkCounts links;
  std::uint64_t dangling = 0;  ///< documents without links
  unsigned iterations = 0;
  double last_change = 0;  ///< sum of the absolute changes in the last iteration
  bool converged = true;
  // If it came from a score file:
  std::uint64_t scores = 0;   ///< lines with a score of a document
  std::uint64_t unknown = 0;  ///< lines whose document is not in the collection
  std::uint64_t missing = 0;  ///< documents without a line: their score is 0
  bool all_the_same = false;
};

struct DocumentPagerank {
  std::vector<float> ranks;  ///< of each document, before scaling; empty if there are none
  PagerankReport report;
};

/// The documents' PageRank; empty for PagerankFrom::nothing and `if_needed`. If no pages link to each other, all
/// documents get the same. Throws CorruptFile for bad files; InvalidArgument if the memory budget is too small.
DocumentPagerank document_pagerank(const CollectionReader& collection, const PagerankInput& input,
                                   const Resources& resources);

}  // namespace quern
