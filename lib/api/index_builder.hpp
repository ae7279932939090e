#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/api/work.hpp"

namespace quern::api {

/// What shapes an index. Names are those of `quern index`.
struct IndexOptions {
  std::string stemmer = "none";
  std::string stopwords = "none";  ///< none, english, a file, or "words:the,of"
  std::string codec = "newpfd";
  unsigned block_size = 128;
  unsigned recursion = 1;      ///< of rpfd
  std::string order = "auto";  ///< auto: url if all documents have one, else natural
  std::uint64_t seed = 1;      ///< of the order random
  std::string pagerank;        ///< links, none, or a file of scores; empty: what the order needs
  std::string links;           ///< a file of links for PageRank; empty: those of the pages
  double alpha = 0.3;          ///< of global scores
  std::string pagerank_scale = "rank";
  double k1 = 1.2, b = 0.75;
  unsigned quantize_bits = 0;  ///< 4 to 16: also store quantized impacts
  /// Of given weights, 4 to 16: documents have vectors, of which the index is made; 0: they have texts.
  unsigned impact_bits = 0;
  std::optional<double> impact_scale;  ///< what their weights are multiplied with before they are rounded; none: they
                                       ///< are whole
  /// Fields whose values are kept with the documents, for filters and results: keys of JSON objects, or those that
  /// NewDocument gives.
  std::vector<std::string> keep_fields;
  bool store_text = false;  ///< keep the documents' texts
  bool forward = false;     ///< write the forward file, which features and rerankers read
  bool refuse_duplicates = false;
  std::uint64_t max_errors = 1000;  ///< bad documents to skip before giving up
  bool overwrite = false;           ///< replace an index that is there
};

/// Of a corpus of files alone.
struct CorpusOptions {
  std::string format = "auto";
  std::vector<std::string> include, exclude;  ///< patterns of files in folders
  /// Keys of JSON objects; empty: the format's. That of vectors counts with impact_bits alone.
  std::string id_field, title_field, text_field, url_field, vector_field;
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// Skip bad documents, however many, damaged members of gzip files, and files of no known format.
  bool skip_bad = false;
  /// Of crawls (WARC, WET): codes of ISO 639-3; pages in other languages, or that say none, are left out. None: all
  /// stay.
  std::vector<std::string> languages;
  bool drop_copies = false;  ///< of crawls: leave out pages whose payload, by its digest, an earlier one has
};

/// A document that a program hands over; texts are UTF-8 (what is not is repaired). Two line ends in a row end a
/// phrase.
struct NewDocument {
  std::string_view docno;  ///< 1 to 65,535 bytes, no control characters
  std::string_view text, title, url;
  std::span<const WeightedTerm> vector = {};  ///< with impact_bits: each term once; weights of 0 are left out
  std::span<const KeptField> fields = {};     ///< each once; those of IndexOptions::keep_fields that are missing have
                                              ///< no value
};

/// What came of a corpus.
struct IndexReport {
  std::uint64_t documents = 0, empty = 0;  ///< indexed; of them without a token
  std::uint64_t skipped = 0, bad = 0;      ///< records that are no documents; that can't be read
  std::uint64_t left_out = 0;              ///< pages that CorpusOptions::languages or drop_copies leave out
  std::uint64_t duplicates = 0;            ///< documents with an earlier one's docno
  std::uint64_t terms = 0, tokens = 0, postings = 0;
  std::uint64_t index_bytes = 0;
  std::vector<std::string> bad_documents;  ///< place and reason of the first hundred
};

/// Builds an index from documents that are handed over one by one, while other threads parse those before. The index
/// appears at its path, whole, when finish() returns; without finish(), nothing is left. One thread at a time.
class QUERN_API IndexBuilder {
 public:
  /// Begins to build. `work` is for all of it. Throws Error: invalid_argument for options out of range and existing
  /// output, io if the output's folder can't be written.
  explicit IndexBuilder(const std::string& path, const IndexOptions& options = {}, const Work& work = {});
  IndexBuilder(IndexBuilder&&) noexcept;
  IndexBuilder& operator=(IndexBuilder&&) noexcept;
  /// Gives the index up unless it is finished.
  ~IndexBuilder();

  /// Adds a document: copies it. May wait for those before. Throws Error: invalid_argument for a docno that can't be,
  /// weights that are negative or not finite, and fields that are not kept or can't be, and what the building of the
  /// index failed with; nothing can be added then.
  void add(const NewDocument& document);
  /// Builds what is left, and puts the index in its place. Throws Error as add(); invalid_argument if no document was
  /// added.
  IndexReport finish();

 private:
  struct QUERN_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

/// Builds an index from a corpus: files, folders (read recursively), or "-" for standard input. Throws as IndexBuilder,
/// and corrupt_file, io and invalid_argument for files that can't be read.
QUERN_API IndexReport build_index(const std::vector<std::string>& corpus, const std::string& path,
                                  const IndexOptions& options = {}, const CorpusOptions& reading = {},
                                  const Work& work = {});

}  // namespace quern::api
