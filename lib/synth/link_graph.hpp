#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/io/file.hpp"
#include "quern/synth/document_tree.hpp"
#include "quern/synth/popular_documents.hpp"

namespace quern {

/// Links between made-up documents: most of them within the site, where its first pages are linked most; the others go
/// to popular documents anywhere. In-degrees follow a power law, out-degrees are exponential; some documents have no
/// links. Nothing is stored: a document's links come from its number.
class LinkGraph {
 public:
  /// `mean_links`: links a document on average. The tree must outlive the graph.
  LinkGraph(const DocumentTree& tree, double mean_links, std::uint64_t seed);

  /// Replaces `targets` by the documents that `document` links to: distinct, rising, without itself.
  void links_of(docid_t document, std::vector<docid_t>& targets) const;

 private:
  docid_t draw_target(std::uint64_t bits, docid_t site_first, docid_t site_end) const;

  const DocumentTree& tree_;
  double mean_links_;
  std::uint64_t key_;
  PopularDocuments popular_;
};

/// Writes all links as lines `from<TAB>to` of docnos, in the documents' order, packed as `name` ends (.gz, .zst).
/// Returns their number.
std::uint64_t write_links(const LinkGraph& graph, docid_t documents, const std::string& name,
                          const Resources& resources, File& out);

}  // namespace quern
