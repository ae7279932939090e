#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/api/work.hpp"

namespace quern::api {

/// What an index is and holds.
struct IndexStatistics {
  std::uint64_t documents = 0, empty_documents = 0;
  std::uint64_t terms = 0, postings = 0, tokens = 0, blocks = 0;
  double average_length = 0;  ///< tokens per document
  std::uint64_t file_bytes = 0;
  std::string codec, order, stemmer, stopwords;
  unsigned block_size = 0;
  double k1 = 0, b = 0;        ///< of block maxima, and the default of queries
  unsigned quantize_bits = 0;  ///< of quantized impacts; 0: there are none
  unsigned impact_bits = 0;    ///< of weights that the corpus gave; 0: documents had texts
  bool has_pagerank = false, has_global_scores = false, has_forward = false, has_texts = false;
};

/// A document of an index.
struct DocumentInfo {
  std::string docno, url, title;
  std::uint32_t length = 0;  ///< in tokens
};

/// What the lexicon knows of a term.
struct TermInfo {
  std::uint64_t df = 0;  ///< documents with the term
  std::uint64_t cf = 0;  ///< its occurrences in all of them
};

/// A posting list: docIDs rising, with the term's frequency in each document.
struct PostingArrays {
  std::vector<std::uint32_t> docids, frequencies;
};

/// Moves forwards over a posting list. Keeps the index open. One thread at a time.
class QUERN_API PostingIterator {
 public:
  PostingIterator(PostingIterator&&) noexcept;
  PostingIterator& operator=(PostingIterator&&) noexcept;
  ~PostingIterator();

  /// Whether the last posting is passed; then nothing else may be asked.
  bool at_end() const noexcept;
  std::uint32_t docid() const noexcept;
  /// The term's frequency in the document. Throws Error (corrupt_file).
  std::uint32_t frequency();
  /// Moves to the next posting. Throws Error (corrupt_file).
  void next();
  /// Moves to the first posting whose docID is at least `docid`; stays where it is if it is there already.
  void seek(std::uint32_t docid);

 private:
  friend class Index;
  struct QUERN_INTERNAL Impl;
  explicit PostingIterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An open index. A handle: copies share what is mapped, which stays open, and the same, as long as one of them or
/// something made from it is there, even if the files are replaced meanwhile. All functions may be called by many
/// threads at once. After a fork both processes may go on using it.
class QUERN_API Index {
 public:
  /// `path`: what `quern index` or IndexBuilder wrote. Reads little: bytes are mapped. Throws Error: io if there is
  /// none, invalid_argument if it is something else, corrupt_file, unsupported_version.
  static Index open(const std::string& path);

  const std::string& path() const noexcept;
  std::uint32_t num_documents() const noexcept;
  IndexStatistics statistics() const;
  /// The index's own description, as JSON: formats/index.md names the keys.
  std::string manifest() const;

  /// What the lexicon knows of a term, which must be as the analyzer makes it; nothing: no document has it.
  std::optional<TermInfo> term(std::string_view term) const;
  /// Its postings, whole; empty if no document has it. Throws Error: corrupt_file.
  PostingArrays postings(std::string_view term) const;
  /// The same one by one.
  PostingIterator posting_iterator(std::string_view term) const;
  /// Calls visit(term, info) for all terms in the order of their bytes, until it returns false.
  void for_each_term(const std::function<bool(std::string_view term, const TermInfo& info)>& visit) const;
  /// The terms of a text, as documents and queries get them.
  std::vector<std::string> analyze(std::string_view text) const;

  /// A document's name, length in tokens, and all that is known of it. Throw Error: invalid_argument if there is no
  /// such document.
  std::string docno(std::uint32_t docid) const;
  std::uint32_t length(std::uint32_t docid) const;
  DocumentInfo document(std::uint32_t docid) const;
  /// Its text, if the index was built with texts: a line for the title, which may be empty, and one for each phrase of
  /// the body. Throws Error: invalid_argument if it was not.
  std::string text(std::uint32_t docid) const;
  /// The docID of a docno, the lowest if several documents share it.
  std::optional<std::uint32_t> find(std::string_view docno) const;

  /// Checks every byte of the index and of the files beside it. Throws Error: corrupt_file, with the place.
  void verify(const Work& work = {}) const;

  struct QUERN_INTERNAL Impl;
  /// What is behind the handle, for the library itself.
  const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Index(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quern::api
