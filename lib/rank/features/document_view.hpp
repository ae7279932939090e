#pragma once
#include <array>
#include <cstdint>

#include "quern/formats/forward_segment.hpp"
#include "quern/rank/features/query_view.hpp"

/// What the machines of features see of a document: its streams, and where the query's terms are in them (Tadros 2015,
/// section 3.2: a document comes as streams, phrases and word hits). Plain arrays, for every device.
namespace quern {

/// A token of a stream that is a term of the query.
struct WordHit {
  std::uint32_t word;    ///< place of the term in FeatureQueryView::terms
  std::uint32_t offset;  ///< tokens of the stream before it
  std::uint32_t phrase;  ///< phrases of the stream before its own
};

/// One stream of a document.
struct StreamView {
  FeatureQueryView query;
  double average_length = 1;      ///< of this stream, over all documents; 1 if no document has a token there
  double k1 = 0, b = 0;           ///< of BM25, the index's
  std::uint32_t length = 0;       ///< tokens
  std::uint32_t phrases = 0;      ///< runs of tokens between ends of phrases
  const WordHit* hits = nullptr;  ///< by offset
  std::uint32_t num_hits = 0;
  const std::uint32_t* tf = nullptr;  ///< of each of the query's terms: its hits in the stream
  std::uint32_t* scratch = nullptr;   ///< a number for each of the query's terms, for machines to use
};

/// A document and its score of the first stage.
struct DocumentView {
  std::array<StreamView, num_document_streams> streams;
  double first_stage_score = 0;
  double pagerank = 0;  ///< 0 if the index has none
  double url_bytes = 0, url_depth = 0, links = 0, out_links = 0, in_links = 0;
};

}  // namespace quern
