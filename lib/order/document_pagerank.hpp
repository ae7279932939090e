#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// Files that replace the collection's own links as the source of PageRank. At most one of them is given.
struct PagerankFiles {
  std::string links;   ///< one link per line: formats/tables/link_file.md
  std::string scores;  ///< one document's score per line: formats/tables/score_file.md
};

/// What documents' PageRank was computed from: for people and for manifests.
struct PagerankReport {
  PagerankOrigin origin;  ///< empty if there is no PageRank
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

/// The documents' PageRank: from the given file, else from the links between the collection's pages. Without links and
/// without a file, all documents get the same PageRank if it is `needed`, else none.
/// Throws CorruptFile for bad files; InvalidArgument if both are given or the memory budget is too small.
DocumentPagerank document_pagerank(const CollectionReader& collection, const PagerankFiles& files, bool needed,
                                   const Resources& resources);

}  // namespace quern
