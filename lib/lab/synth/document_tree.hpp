#pragma once
#include "quern/io/file.hpp"

/// Synthetic documents: their tree of sites and directories, lengths, names and links.
namespace quern {

inline constexpr double max_mean_length = 1e6;

struct DocumentTreeOptions {
  std::uint64_t documents = 0;
  /// The strength of terms' clustering in places and documents, 0 to 1; with 0 all documents are equally likely.
  double clustering = 0.5;
  /// Mean number of tokens per document, 1 to max_mean_length.
  double mean_length = 300;
  std::uint64_t seed = 1;
};

/// Throws InvalidArgument for no documents, too many for docIDs, and other numbers out of range.
void check_tree_options(const DocumentTreeOptions& options);

/// Documents in URL order under a binary tree that cuts at random places, so that its nodes, which model sites,
/// directories and parts of them, vary widely in size. Leaves have 1 to 64 documents. Lengths are log-normal with a
/// heavy tail, and more similar within a leaf than between leaves. A document's share of the postings of terms without
/// preferences rises with its length (as vocabulary does: Heaps' law).
class DocumentTree {
 public:
  /// Uses several threads. Throws like check_tree_options().
  explicit DocumentTree(const DocumentTreeOptions& options);

  struct Node {
    docid_t middle = 0;       ///< the right child's first document
    std::uint32_t right = 0;  ///< the right child's number, or 0 for a leaf; the left child comes next
    float left_odds = 0;      ///< logarithm of left over right postings, for a term without preferences
    float strength = 0;       ///< strength of terms' preference for one side
  };
  static constexpr unsigned max_leaf = 64;
  /// A document as input of list generation. A leaf's documents are the slots of an alias table (Walker 1977): a number
  /// from 0 to 255 picks the slot's own document if it is at most `threshold`, otherwise the leaf's document `alias`.
  struct Document {
    std::uint8_t threshold = 255, alias = 0;
    std::uint8_t length_step = 0;  ///< half octaves of the length; length_step_mean at the mean
  };
  static constexpr unsigned length_steps = 24, length_step_mean = 10;

  docid_t documents() const { return documents_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const std::uint32_t> lengths() const { return lengths_; }
  /// Moves the lengths out of the tree.
  std::vector<std::uint32_t> take_lengths() { return std::move(lengths_); }
  std::span<const Document> places() const { return places_; }
  double mean_length() const { return mean_length_; }
  /// The first document of each leaf (directory) and of each site, in docID order.
  std::span<const docid_t> leaf_starts() const { return leaf_starts_; }
  std::span<const docid_t> site_starts() const { return site_starts_; }

 private:
  class Builder;

  docid_t documents_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> lengths_;
  double mean_length_;
  std::vector<Document> places_;
  std::vector<docid_t> leaf_starts_, site_starts_;
};

/// Docnos and URLs of synthetic documents. Both sort bytewise in document order; URLs contain site and directory.
class DocumentNames {
 public:
  explicit DocumentNames(const DocumentTree& tree) : tree_(tree) {}

  /// S and at least nine digits: S000000042.
  static std::string docno(docid_t document);
  static void append_docno(docid_t document, std::string& text);
  /// http://s000003.example/d00007/p12.html
  std::string url(docid_t document) const;
  /// The numbers of the document's site and of its directory, a leaf of the tree.
  std::size_t site(docid_t document) const;
  std::size_t leaf(docid_t document) const;

 private:
  const DocumentTree& tree_;
};

/// A ranking of the documents by popularity: rank 0 gets the most links. A bijection that scatters neighbours, computed
/// without a table.
class PopularityRanking {
 public:
  PopularityRanking(docid_t documents, std::uint64_t seed);
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

struct SynthCorpusOptions {
  DocumentTreeOptions tree;
  double mean_links = 8;
  /// Size of the vocabulary.
  std::uint32_t vocabulary = 50000;
};

/// Synthetic web pages. Word frequencies follow Zipf's law; half of a page's words belong to its site and directory,
/// and many are repeated (Simon: On a Class of Skew Distribution Functions, 1955).
class SynthCorpus {
 public:
  /// Throws InvalidArgument for options out of range.
  explicit SynthCorpus(const SynthCorpusOptions& options);
  /// Appends the document as a TRECWEB record: HTML with a title, paragraphs and links.
  void append_document(docid_t document, std::string& text) const;
  docid_t documents() const { return tree_.documents(); }

 private:
  std::vector<std::uint32_t> words_of(docid_t document) const;
  std::uint32_t draw_word(std::uint64_t bits, std::uint64_t site, std::uint64_t leaf) const;

  SynthCorpusOptions options_;
  DocumentTree tree_;
  DocumentNames names_;
  LinkGraph links_;
};

/// Writes all documents as one TRECWEB file. Throws InvalidArgument for options out of range.
void write_corpus(const SynthCorpusOptions& options, const Resources& resources, File& out);

/// Appends the synthetic word of a rank: at least two syllables of a consonant and a vowel. Words are unique, and low
/// ranks have the shortest.
void append_word(std::uint32_t rank, std::string& text);

}  // namespace quern
