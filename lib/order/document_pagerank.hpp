#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// Files that documents' PageRank may come from instead of the collection's own links. At most one of them is named.
struct PagerankFiles {
  std::string links;   ///< a link a line: formats/link_file.md
  std::string scores;  ///< a document's score a line: formats/score_file.md
};

/// What documents' PageRank was made from: for people, and for manifests.
struct PagerankReport {
  PagerankOrigin origin;  ///< empty where there is no PageRank
  // Of PageRank that was computed:
  LinkCounts links;
  std::uint64_t dangling = 0;  ///< documents without links
  unsigned iterations = 0;
  double last_change = 0;  ///< in the last iteration, summed up
  bool converged = true;
  // Of a score file:
  std::uint64_t scores = 0;   ///< of documents
  std::uint64_t unknown = 0;  ///< lines whose document the collection does not have
  std::uint64_t missing = 0;  ///< documents without a line: their score is 0
  bool all_the_same = false;
};

struct DocumentPagerank {
  std::vector<float> ranks;  ///< of each document, before scaling; empty where there are none
  PagerankReport report;
};

/// The documents' PageRank: from the file that is named, else from the links between the collection's pages. Where
/// there is no such link and no file, all documents have the same if it is `needed`, else none has any.
/// Throws CorruptFile for bad files; InvalidArgument where both are named or the memory budget has no room.
DocumentPagerank document_pagerank(const CollectionReader& collection, const PagerankFiles& files, bool needed,
                                   const Resources& resources);

}  // namespace quern
