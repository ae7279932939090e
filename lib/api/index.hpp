#pragma once
#include "quern/api/work.hpp"

namespace quern::api {

/// The settings and counts of an index.
struct IndexStatistics {
  std::uint64_t documents = 0, empty_documents = 0;
  std::uint64_t terms = 0, postings = 0, tokens = 0, blocks = 0;
  double average_length = 0;  ///< tokens per document
  std::uint64_t file_bytes = 0;
  std::string codec, order, stemmer, stopwords;
  unsigned block_size = 0;
  double k1 = 0, b = 0;        ///< of block maxima; the default of queries
  unsigned quantize_bits = 0;  ///< of quantized impacts or weights; 0: none
  unsigned impact_bits = 0;    ///< of weights from the corpus; 0: documents had texts
  std::string weights;         ///< the weighting model with its parameters, such as "qld:mu=1500"; empty: none
  bool has_pagerank = false, has_global_scores = false, has_forward = false, has_texts = false;
};

/// A document of an index.
struct DocumentInfo {
  std::string docno, url, title;
  std::uint32_t length = 0;  ///< tokens
};

/// The lexicon's entry for a term.
struct TermInfo {
  std::uint64_t df = 0;  ///< documents with the term
  std::uint64_t cf = 0;  ///< occurrences in all documents
};

/// A posting list: ascending docIDs, and the term's frequency in each document.
struct PostingArrays {
  std::vector<std::uint32_t> docids, frequencies;
};

/// A forward iterator over a posting list. Keeps the index open. One thread at a time.
class QUERN_API PostingIterator {
 public:
  PostingIterator(PostingIterator&&) noexcept = default;
  PostingIterator& operator=(PostingIterator&&) noexcept = default;

  /// Whether all postings are passed; then no other function may be called.
  bool at_end() const noexcept;
  std::uint32_t docid() const noexcept;
  /// The term's frequency in the document. Throws Error (corrupt_file).
  std::uint32_t frequency();
  /// Moves to the next posting. Throws Error (corrupt_file).
  void next();
  /// Moves to the first posting with a docID of at least `docid`; never backwards.
  void seek(std::uint32_t docid);

 private:
  friend class Index;
  struct QUERN_INTERNAL Impl;
  explicit PostingIterator(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// An open index. A handle: copies share the mapped files, which stay open and unchanged as long as a copy, or an
/// object made from one, exists, even if the files are replaced. Thread-safe. Both processes may use it after a fork.
class QUERN_API Index {
 public:
  /// Opens an index of `quern index` or IndexBuilder; maps its files, and reads little. Throws Error: io if the file is
  /// missing, invalid_argument if it is of another kind, corrupt_file, unsupported_version.
  static Index open(const std::string& path);
  /// Opens all shards of an index, in any order, as the index that they were cut from. Throws as open(), and
  /// invalid_argument unless they are all shards of one index.
  static Index open_shards(const std::vector<std::string>& paths);

  /// The path; of several shards, the first one's.
  const std::string& path() const noexcept;
  std::uint32_t num_documents() const noexcept;
  /// Identifies the contents of the index's file, of all shards in docID order.
  std::uint64_t content_hash() const;

  // These throw Error, too: invalid_argument if the index is in several shards.
  IndexStatistics statistics() const;
  /// The index's manifest, as JSON; formats/index.md names the keys.
  std::string manifest() const;

  /// The lexicon's entry for a term in analyzed form; nullopt if no document contains it.
  std::optional<TermInfo> term(std::string_view term) const;
  /// The whole posting list of a term; empty if no document contains it. Throws Error: corrupt_file.
  PostingArrays postings(std::string_view term) const;
  /// The postings of a term, one by one.
  PostingIterator posting_iterator(std::string_view term) const;
  /// Calls visit(term, info) for all terms in byte order, until it returns false.
  void for_each_term(const std::function<bool(std::string_view term, const TermInfo& info)>& visit) const;

  /// The terms that the index's analyzer makes of a text.
  std::vector<std::string> analyze(std::string_view text) const;

  /// A document's name, length in tokens, and description. Throw Error: invalid_argument if there is no such
  /// document.
  std::string docno(std::uint32_t docid) const;
  std::uint32_t length(std::uint32_t docid) const;
  DocumentInfo document(std::uint32_t docid) const;
  /// A document's text: a line for the title, which may be empty, and one for each phrase of the body. Throws Error:
  /// invalid_argument if the index was built without texts.
  std::string text(std::uint32_t docid) const;
  /// The docID of a docno; the lowest if several documents share it.
  std::optional<std::uint32_t> find(std::string_view docno) const;

  /// Verifies every byte of the index and of the files next to it. Throws Error: corrupt_file, with the position.
  void verify(const Work& work = {}) const;

  struct QUERN_INTERNAL Impl;
  /// The implementation, for the library itself.
  const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Index(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// A set of an index's documents to which results are restricted. A handle; thread-safe.
class QUERN_API Filter {
 public:
  /// The documents that an expression names, such as "lang=en and not url^=http://a.example/":
  /// formats/queries/filter.md. Throws Error: invalid_argument, with the position, for an invalid filter, and for
  /// fields that the index has not kept.
  static Filter matching(const Index& index, std::string_view expression, const Work& work = {});
  /// The documents whose docnos a file lists, one per line, plain or compressed; "-" is standard input. A remark names
  /// one that the index lacks. Throws Error: io; corrupt_file for a line above 1 MiB.
  static Filter listed(const Index& index, const std::string& path, const Work& work = {});
  /// The documents with these docnos; docnos that the index lacks are ignored.
  static Filter of_docnos(const Index& index, std::span<const std::string_view> docnos);
  /// The documents with these docIDs. Throws Error: invalid_argument for a docID that the index doesn't have.
  static Filter of_docids(const Index& index, std::span<const std::uint32_t> docids);

  /// The number of documents.
  std::uint64_t count() const;

  struct QUERN_INTERNAL Impl;
  /// The implementation, for the library itself.
  const std::shared_ptr<const Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Filter(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quern::api
