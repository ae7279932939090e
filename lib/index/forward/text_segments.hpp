#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/formats/collection.hpp"
#include "quern/formats/forward_segment.hpp"
#include "quern/index/forward/index_terms.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

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
