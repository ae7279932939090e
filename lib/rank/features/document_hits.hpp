#pragma once
#include "quern/formats/forward_file.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_query.hpp"

namespace quern {

/// Finds a query's terms in documents of the forward file. One per thread.
class DocumentHits {
 public:
  /// The hits of one stream.
  struct StreamHits {
    std::uint32_t length = 0, phrases = 0;
    bool in_phrase = false;  ///< whether a token followed the last phrase end
    std::vector<WordHit> hits;
    std::vector<std::uint32_t> tf;
  };

  /// Reads a document, for streams() and numbers(). Throws CorruptFile.
  void read(const ForwardReader& forward, docid_t docid, const FeatureQuery& query);
  /// Reads a document within a budget: claims memory for the hits before it finds them, and reports bytes read to
  /// `memory`. The hits must not outlive the claim. Throws InvalidArgument if the budget is too small for the document.
  void read(const ForwardReader& forward, docid_t docid, const FeatureQuery& query, const FeatureMemory& memory,
            QueryMemory::Claim& claim);
  /// Frees the hits if they take more than `bytes` bytes.
  void release_beyond(std::uint64_t bytes);

  const std::array<StreamHits, num_document_streams>& streams() const { return streams_; }
  const StaticNumbers& numbers() const { return numbers_; }

 private:
  using StreamCounts = std::array<std::uint64_t, num_document_streams>;

  void begin(const FeatureQuery& query);
  void end();
  StreamCounts count_hits(const ForwardReader& forward, docid_t docid, const FeatureQuery& query,
                          const FeatureMemory& memory);
  void find_terms(const ForwardSegment& segment, const FeatureQuery& query);
  template <class TakeBlock>
  void for_each_block(const ForwardSegment& segment, TakeBlock&& take);
  template <class Found>
  void find_in_block(const std::uint32_t* ids, std::uint64_t tokens, Found&& found) const;
  void scan(const ForwardSegment& segment);
  void scan_block(const std::uint32_t* ids, unsigned places, StreamHits& stream);

  struct WantedTerm {
    std::uint32_t id = 0, word = 0;
  };
  std::vector<WantedTerm> wanted_;      ///< terms of the query in the segment
  std::vector<std::uint32_t> word_of_;  ///< by id of the segment: its word + 1; filled if many terms are wanted
  std::vector<std::uint32_t> ids_;
  std::array<StreamHits, num_document_streams> streams_;
  StaticNumbers numbers_;
};

}  // namespace quern
