#pragma once
#include "quern/api/work.hpp"

namespace quern::api {

/// How an index is built; names and values are those of `quern index`.
struct IndexOptions {
  std::string language;   ///< of the text: its stemmer and stop words, unless others are named; empty: none
  std::string stemmer;    ///< none, porter2, or another of Snowball's
  std::string stopwords;  ///< none, a language, a file, or "words:the,of"
  std::string codec = "maskpfd";
  unsigned block_size = 128;
  unsigned recursion = 1;      ///< of rpfd
  std::string order = "auto";  ///< auto: url if all documents have one, else natural
  std::uint64_t seed = 1;      ///< of the order random
  std::string pagerank;        ///< links, none, or a file of scores; empty: as the order needs
  std::string links;           ///< a file of links for PageRank; empty: those of the pages
  double alpha = 0.3;          ///< of global scores
  std::string pagerank_scale = "rank";
  double k1 = 1.2, b = 0.75;
  unsigned quantize_bits = 0;  ///< 4 to 16: also store quantized impacts; with `weights`, their bits (0: 16)
  /// A weighting model whose weights are stored instead of frequencies, such as "qld" or "qld:mu=1500"; empty: none.
  std::string weights;
  /// Bits of given weights, 4 to 16: documents have vectors, from which the index is built; 0: they have texts.
  unsigned impact_bits = 0;
  std::optional<double> impact_scale;  ///< given weights are multiplied by it and rounded; none: they must be whole
  /// Fields whose values are kept with the documents, for filters and results: keys of JSON objects, or those that
  /// NewDocument gives.
  std::vector<std::string> keep_fields;
  bool store_text = false;   ///< keep the documents' texts
  bool forward = false;      ///< write the forward file, which features, rerankers and query expansion need
  bool allow_empty = false;  ///< build an index even if no document has a term
  bool refuse_duplicates = false;
  std::uint64_t max_errors = 1000;  ///< bad documents to skip before giving up
  bool overwrite = false;           ///< replace an existing index
};

/// How the files of a corpus are found and read.
struct CorpusOptions {
  std::string format = "auto";
  std::vector<std::string> include, exclude;  ///< patterns of files in folders
  /// A list of files or folders, a path on each line, "-" for standard input; empty: `corpus` names them. Relative
  /// paths are taken from the folder files_root, or from the working folder if that is empty.
  std::string files_from, files_root;
  /// Keys of JSON objects; empty: the format's. vector_field needs impact_bits.
  std::string id_field, title_field, text_field, url_field, vector_field;
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// Skip any number of bad documents, damaged members of gzip files, and files of unknown formats.
  bool skip_bad = false;
  /// For crawls (WARC, WET): ISO 639-3 codes; pages in other languages, or that state none, are skipped. Empty: keep
  /// all.
  std::vector<std::string> languages;
  bool drop_copies = false;  ///< for crawls: skip pages with the payload digest of an earlier page
};

/// A document that a program supplies. Text is UTF-8; invalid bytes are replaced. Two consecutive line ends end a
/// phrase.
struct NewDocument {
  std::string_view docno;  ///< 1 to 65,535 bytes, no control characters
  std::string_view text, title, url;
  std::span<const WeightedTerm> vector = {};  ///< with impact_bits: each term once; weights of 0 are ignored
  std::span<const KeptField> fields = {};     ///< values of IndexOptions::keep_fields, each field at most once
};

/// The outcome of indexing a corpus.
struct IndexReport {
  std::uint64_t documents = 0, empty = 0;  ///< indexed; without a token
  std::uint64_t skipped = 0, bad = 0;      ///< records that are not documents; unreadable ones
  std::uint64_t left_out = 0;              ///< pages skipped by CorpusOptions::languages or drop_copies
  std::uint64_t duplicates = 0;            ///< documents with an earlier one's docno
  std::uint64_t terms = 0, tokens = 0, postings = 0;
  std::uint64_t index_bytes = 0;
  std::vector<std::string> bad_documents;  ///< place and reason of the first hundred
  std::string figures;                     ///< all that the stages counted, as JSON: what `quern index --json` prints
};

/// Builds an index from documents added one by one, while other threads parse earlier ones. The complete index appears
/// at its path when finish() returns; without finish(), nothing remains. One thread at a time.
class QUERN_API IndexBuilder {
 public:
  /// Starts to build. `work` is for the whole build. Throws Error: invalid_argument for options out of range and
  /// existing output, io if the output's folder can't be written.
  explicit IndexBuilder(const std::string& path, const IndexOptions& options = {}, const Work& work = {});
  IndexBuilder(IndexBuilder&&) noexcept = default;
  IndexBuilder& operator=(IndexBuilder&&) noexcept = default;

  /// Copies and adds a document. May wait for earlier ones. Throws Error: invalid_argument for an invalid docno,
  /// weights that are negative or not finite, and fields that are not kept or whose values can't be; also the error
  /// that the build failed with, after which no document can be added.
  void add(const NewDocument& document);
  /// Finishes the index and moves it into place. Throws Error like add(), and invalid_argument if no document was
  /// added.
  IndexReport finish();

 private:
  struct QUERN_INTERNAL Impl;
  std::shared_ptr<Impl> impl_;
};

/// Builds an index from a corpus: files, folders (read recursively), or "-" for standard input. Throws
/// like IndexBuilder; also corrupt_file, io and invalid_argument for unreadable files, and wrong_usage for an output in
/// the corpus.
QUERN_API IndexReport build_index(const std::vector<std::string>& corpus, const std::string& path,
                                  const IndexOptions& options = {}, const CorpusOptions& reading = {},
                                  const Work& work = {});

}  // namespace quern::api
