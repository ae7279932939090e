#pragma once
#include "quern/lab/synth/document_tree.hpp"

namespace quern {

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
