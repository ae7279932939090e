#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/collection.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/checksum.hpp"

/// Statistics of the splits of a corpus, which add up, and the scale of their quantized impacts. See statistics.md.
namespace quern {

struct StatisticsManifest {
  /// Settings, libraries and counts of all splits together; `terms` are those with a posting.
  CollectionManifest collection;
  std::uint64_t documents_hash = 0;  ///< DocumentsHash of all documents
  std::uint64_t duplicates = 0;      ///< documents with the docno of another, but for one of each

  CollectionStatistics statistics() const { return {collection.documents, collection.tokens}; }
  std::string to_json() const;
  static StatisticsManifest from_json(const std::string& text, const std::string& what);
};

/// Writes statistics: terms in byte order, docnos in the order of their hashes, finish().
class StatisticsWriter {
 public:
  StatisticsWriter(File& out, const std::string& tmp_folder);
  void add_term(std::string_view term, const TermCounts& counts);
  /// Ends the terms.
  void begin_docnos();
  /// The docno of `documents` documents: its docno_key().
  void add_docno(std::string_view key, std::uint64_t documents);
  /// Fills in the manifest's terms and postings, tokens and duplicates. `splits` rise.
  void finish(StatisticsManifest manifest, std::span<const CollectionSplit> splits);

 private:
  ContainerWriter out_;
  DictionaryWriter terms_, docnos_;
  TermCounts sums_;
  std::uint64_t duplicates_ = 0;
  Bytes payload_;
};

/// Counts docno_key()s that come in rising order, and writes each once.
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
  /// After the last.
  void end() {
    if (documents_ > 0) writer_.add_docno(last_, documents_);
  }

 private:
  StatisticsWriter& writer_;
  std::string last_;
  std::uint64_t documents_ = 0;
};

/// The XXH3-128 of a docno as 16 bytes that sort as the number does.
std::string docno_key(std::string_view docno);

/// A statistics file, opened and its manifest and splits checked. Throws CorruptFile.
class StatisticsReader {
 public:
  static StatisticsReader open(const std::string& path);
  explicit StatisticsReader(ContainerReader container);

  const std::string& name() const { return container_.name(); }
  const ContainerReader& container() const { return container_; }
  const StatisticsManifest& manifest() const { return manifest_; }
  const std::vector<CollectionSplit>& splits() const { return splits_; }
  /// The terms, whose payloads are TermCounts; reads so many blocks at once.
  DictionaryScan terms(std::uint64_t blocks_at_once = DictionaryScan::default_blocks_at_once) const {
    return {container_, "terms", manifest_.collection.terms, blocks_at_once};
  }
  /// docno_key()s, whose payloads are numbers of documents as varints.
  DictionaryScan docnos(std::uint64_t blocks_at_once = DictionaryScan::default_blocks_at_once) const {
    return {container_, "docnos", manifest_.collection.documents - manifest_.duplicates, blocks_at_once};
  }
  /// Throws InvalidArgument unless these collections are the splits.
  void check_splits(std::vector<CollectionSplit> collections, const std::string& collections_name) const;
  /// Beyond the sums: compares terms and docnos with the counts.
  void verify_contents() const;

 private:
  ContainerReader container_;
  StatisticsManifest manifest_;
  std::vector<CollectionSplit> splits_;
};

/// The greatest term score of some splits, which is the scale of quantized impacts where it is that of all.
struct Scales {
  Bm25Parameters bm25;
  float top = 0;
  std::string statistics_hash;          ///< content hash of the statistics that scores were made with
  std::vector<CollectionSplit> splits;  ///< in rising order
};
void write_scales(File& out, const Scales& scales);
/// Throws CorruptFile.
Scales read_scales(const ContainerReader& container);

}  // namespace quern
