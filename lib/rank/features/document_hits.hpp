#pragma once
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Maximum length of a query, repetitions included; further terms are ignored.
inline constexpr std::size_t max_feature_terms = 4096;

/// A query's terms, with their statistics in the index and their numbers in it or in one of its shards.
struct FeatureQuery {
  std::vector<std::string> texts;              ///< the distinct terms
  std::vector<std::optional<term_t>> numbers;  ///< in the index; empty for terms without a list
  std::vector<FeatureTerm> terms;
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint32_t> first_follower, followers;  ///< see FeatureQueryView
  std::vector<std::uint32_t> listed;                     ///< indices of terms with a list, sorted by number
  std::vector<std::uint32_t> literals;                   ///< indices of the other terms, sorted bytewise

  /// Fills the vectors from first_follower on, for queries built by hand.
  void prepare();

  FeatureQueryView view() const {
    return {terms.data(),
            static_cast<std::uint32_t>(terms.size()),
            sequence.data(),
            static_cast<std::uint32_t>(sequence.size()),
            first_follower.empty() ? nullptr : first_follower.data(),
            followers.data()};
  }

 private:
  void find_followers();
};

/// Analyzes a query and looks up its first max_feature_terms terms in each shard of an index, all with the counts of
/// the whole collection. Throws InvalidArgument if the memory is too small for its text.
std::vector<FeatureQuery> make_feature_queries(std::span<const IndexReader* const> shards, Analyzer& analyzer,
                                               std::string_view text,
                                               const FeatureMemory& memory = unlimited_feature_memory);

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
