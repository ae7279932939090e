#pragma once
#include <numeric>

#include "quern/io/file.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/list_generator.hpp"

namespace quern {

/// A ranking of the documents by popularity: rank 0 gets the most links. A bijection that scatters neighbours, computed
/// without a table.
class PopularityRanking {
 public:
  PopularityRanking(docid_t documents, std::uint64_t seed) : documents_(documents) {
    constexpr std::uint64_t purpose = 0x9097;
    shift_ = noise_bits(seed, purpose) % documents;
    // Near the golden ratio, so that close ranks are far apart; coprime, so that it is a bijection.
    factor_ = static_cast<std::uint64_t>(static_cast<double>(documents) * 0.6180339887498949) | 1;
    while (std::gcd(factor_, std::uint64_t{documents}) != 1) ++factor_;
  }
  docid_t at(docid_t rank) const { return static_cast<docid_t>((rank * factor_ + shift_) % documents_); }

 private:
  std::uint64_t documents_, shift_, factor_;
};

/// Links between synthetic documents: most stay within the site, whose first pages get the most links; the others go to
/// popular documents anywhere. In-degrees follow a power law, out-degrees are exponential; some documents have no
/// links. Nothing is stored: a document's number determines its links.
class LinkGraph {
 public:
  /// `mean_links`: mean number of links per document, 0 to 10,000; throws InvalidArgument for other values. The tree
  /// must outlive the graph.
  LinkGraph(const DocumentTree& tree, double mean_links, std::uint64_t seed);

  /// Replaces `targets` by the documents that `document` links to: distinct, ascending, without itself.
  void links_of(docid_t document, std::vector<docid_t>& targets) const;

 private:
  docid_t draw_target(std::uint64_t bits, docid_t site_first, docid_t site_end) const;

  const DocumentTree& tree_;
  double mean_links_;
  std::uint64_t key_;
  PopularityRanking popularity_;
};

/// Writes all links as lines `from<TAB>to` of docnos, in document order, compressed according to `name` (.gz, .zst).
/// Returns their number.
std::uint64_t write_links(const LinkGraph& graph, docid_t documents, const std::string& name,
                          const Resources& resources, File& out);

}  // namespace quern
