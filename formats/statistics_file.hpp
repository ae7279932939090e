#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/term_dictionary.hpp"

/// Additive statistics of a corpus's splits, and the scale of their quantized impacts. See statistics.md.
namespace quern {

struct StatisticsManifest {
  /// Settings, libraries and counts of all splits together; `terms` counts those with a posting.
  CollectionManifest collection;
  std::uint64_t documents_hash = 0;  ///< DocumentsHash of all documents
  std::uint64_t duplicates = 0;      ///< documents with the docno of an earlier one

  CollectionStatistics statistics() const { return {collection.documents, collection.tokens, collection.title_tokens}; }
  std::string to_json() const;
  static StatisticsManifest from_json(const std::string& text, const std::string& what);
};

/// Writes statistics: terms in byte order, docnos in hash order, finish().
class StatisticsWriter {
 public:
  StatisticsWriter(File& out, const std::string& tmp_folder);
  void add_term(std::string_view term, const TermCounts& counts);
  /// Ends the terms.
  void begin_docnos();
  /// Adds the docno_key() of a docno that `documents` documents have.
  void add_docno(std::string_view key, std::uint64_t documents);
  /// Sets the manifest's terms, postings, tokens and duplicates. `splits` must ascend.
  void finish(StatisticsManifest manifest, std::span<const CollectionSplit> splits);

 private:
  ContainerWriter out_;
  DictionaryWriter terms_, docnos_;
  TermCounts sums_;
  std::uint64_t duplicates_ = 0;
  Bytes payload_;
};

/// Counts docno_key()s that arrive in ascending order, and writes each once.
class DocnoCounts {
 public:
  explicit DocnoCounts(StatisticsWriter& writer) : writer_(writer) {}
  void add(std::string_view key, std::uint64_t documents) {
    if (key != last_) {
      end();
      last_ = key;
      documents_ = 0;
    }
    documents_ += documents;
  }
  /// Call after the last key.
  void end() {
    if (documents_ > 0) writer_.add_docno(last_, documents_);
  }

 private:
  StatisticsWriter& writer_;
  std::string last_;
  std::uint64_t documents_ = 0;
};

/// The XXH3-128 of a docno as 16 bytes that sort like the number.
std::string docno_key(std::string_view docno);

/// An open statistics file with checked manifest and splits. Throws CorruptFile.
class StatisticsReader : public ManifestReader<StatisticsReader, StatisticsManifest, FileKind::statistics> {
 public:
  explicit StatisticsReader(ContainerReader container);

  const std::vector<CollectionSplit>& splits() const { return splits_; }
  /// Scans the terms, whose payloads are TermCounts, reading `blocks_at_once` blocks at a time.
  DictionaryScan terms(std::uint64_t blocks_at_once = DictionaryScan::default_blocks_at_once) const {
    return {container_, "terms", manifest_.collection.terms, blocks_at_once};
  }
  /// Scans the docno_key()s, whose payloads are numbers of documents as varints.
  DictionaryScan docnos(std::uint64_t blocks_at_once = DictionaryScan::default_blocks_at_once) const {
    return {container_, "docnos", manifest_.collection.documents - manifest_.duplicates, blocks_at_once};
  }
  /// Throws InvalidArgument unless the collections are exactly the splits.
  void check_splits(std::vector<CollectionSplit> collections, const std::string& collections_name) const;
  /// Compares terms and docnos with the counts, in addition to checking the sums.
  void verify_contents() const;

 private:
  std::vector<CollectionSplit> splits_;
};

/// The greatest term score of some splits; that of all splits is the scale of quantized impacts.
struct Scales {
  Bm25Parameters bm25;
  float top = 0;
  std::string statistics_hash;          ///< content hash of the statistics behind the scores
  std::vector<CollectionSplit> splits;  ///< in ascending order
};
void write_scales(File& out, const Scales& scales);
/// Throws CorruptFile.
Scales read_scales(const ContainerReader& container);

}  // namespace quern
