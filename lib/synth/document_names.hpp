#pragma once
#include <string>

#include "quern/synth/document_tree.hpp"

namespace quern {

/// Docnos and URLs of made-up documents. Both come in the byte order of the documents; URLs show site and directory.
class DocumentNames {
 public:
  explicit DocumentNames(const DocumentTree& tree) : tree_(tree) {}

  /// S and nine digits or more: S000000042.
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

}  // namespace quern
