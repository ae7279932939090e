#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/forward_segment.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/forward/index_terms.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// The shard of a forward file.
struct ForwardShard {
  DocidRange docids;                   ///< of the order
  const IndexReader& index;            ///< of these documents
  const StatisticsBeside& statistics;  ///< of all documents
};

/// The index of a forward file.
struct ForwardTarget {
  std::span<const docid_t> documents;   ///< document number in the collection, by docID
  std::string index_hash;               ///< content hash of the index's container, 16 hexadecimal digits
  const ForwardShard* shard = nullptr;  ///< null: the index contains all documents
};

/// The result of writing a forward file.
struct ForwardReport {
  ForwardManifest manifest;
  std::uint64_t file_bytes = 0;
  /// Links to documents of the index whose texts are in the file; nullopt for merged or cut files.
  std::optional<std::uint64_t> anchors;
};

/// Throws InvalidArgument if the corpus has weights instead of tokens, or if the budget can't hold the tables: 26 bytes
/// per document, a bit and a half per term, the collection's tables, and 16 MB.
void check_forward_memory(const CollectionReader& collection, const Resources& resources);

/// Writes the forward file of an index built from the collection: each document's title, body, URL, and the texts of
/// links to it from other documents, by the linking document's docID. The bytes depend only on collection and order.
/// For a shard, links come from all documents of the collection and count for all of them. Throws InvalidArgument like
/// check_forward_memory().
ForwardReport build_forward(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources,
                            File& out);

/// A filter for the URLs of a shard's documents: rejects most others without sorting them (a Bloom filter with one
/// hash, Bloom 1970).
class ShardUrls {
 public:
  /// Memory use in bytes.
  static std::uint64_t table_bytes(std::uint64_t documents) { return bits_of(documents) / 8; }
  explicit ShardUrls(std::uint64_t documents)
      : mask_(bits_of(documents) - 1), words_(bits_of(documents) / bits_of_word) {}

  void add(const Hash128& url) { words_[place(url)] |= bit(url); }
  /// False only if the shard lacks the URL; true for a few missing URLs too.
  bool may_have(const Hash128& url) const { return (words_[place(url)] & bit(url)) != 0; }

 private:
  static constexpr std::uint64_t bits_of_word = 64;
  /// A power of two, 8 to 16 bits per document.
  static std::uint64_t bits_of(std::uint64_t documents) {
    return std::bit_ceil(documents < bits_of_word ? bits_of_word : documents * 8);
  }
  std::uint64_t place(const Hash128& url) const { return (url.high & mask_) / bits_of_word; }
  static std::uint64_t bit(const Hash128& url) { return std::uint64_t{1} << url.high % bits_of_word; }

  std::uint64_t mask_;
  std::vector<std::uint64_t> words_;
};

/// Encodes titles, bodies and URLs of a collection's documents as segments. One per thread.
class TextSegments {
 public:
  explicit TextSegments(const IndexTerms& terms) : terms_(terms) {}

  /// Begins a chunk. `chunk_terms` maps its terms to the collection's lexicon and must outlive the chunk.
  void begin_chunk(std::span<const term_t> chunk_terms);
  /// Adds a stream of the current document and appends full segments to `out`. Throws CorruptFile, with `what`, if the
  /// stream has a term that isn't in the chunk.
  void add_stream(DocumentStream stream, ByteView tokens, std::string_view what, Bytes& out);
  /// Ends the document's last segment.
  void end_document(Bytes& out);

  const SegmentCounts& counts() const { return builder_.counts(); }

 private:
  SegmentBuilder::Key key_of(std::uint32_t chunk_term);
  SegmentBuilder::Key add_literal(std::string_view term);

  struct Keyed {
    std::uint64_t segment = 0;
    SegmentBuilder::Key key = 0;
  };
  const IndexTerms& terms_;
  std::span<const term_t> chunk_terms_;
  std::vector<Keyed> keys_;    ///< of chunk terms, valid only for the current segment
  std::uint64_t segment_ = 1;  ///< number of the current segment
  SegmentBuilder builder_;
};

/// Encodes the texts of links to a document as segments.
class AnchorSegments {
 public:
  AnchorSegments(const IndexTerms& terms, const AnalyzerOptions& options) : terms_(terms), analyzer_(options) {}

  /// Adds a link's text as a phrase and appends full segments to `out`.
  void add(std::string_view text, Bytes& out);
  /// Ends the document's last segment.
  void end_document(Bytes& out);

  const SegmentCounts& counts() const { return builder_.counts(); }

 private:
  void add_place(SegmentBuilder::Key key, Bytes& out);

  const IndexTerms& terms_;
  TermNumberCache numbers_;
  Analyzer analyzer_;
  std::unordered_map<std::string, SegmentBuilder::Key> keys_;  ///< of the current segment
  SegmentBuilder builder_;
};

}  // namespace quern
