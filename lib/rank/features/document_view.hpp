#pragma once
#include "quern/formats/forward_segment.hpp"
#include "quern/rank/features/feature_list.hpp"
#include "quern/search/query_memory.hpp"

namespace quern {

/// A distinct term of a query, as input of features.
struct FeatureTerm {
  double count = 0;                 ///< n: occurrences in the query
  double idf = 0;                   ///< ln(1 + (M - df + 0.5) / (df + 0.5))
  double collection_share = 0;      ///< max(cf, 0.5) / max(T, 1): the term's share of all tokens
  double log_dirichlet_absent = 0;  ///< ln(mu · collection_share)
  double log_jelinek_absent = 0;    ///< ln(lambda · collection_share)
};

/// A query as input of features: plain arrays, for every device.
struct FeatureQueryView {
  const FeatureTerm* terms = nullptr;       ///< distinct, by first occurrence in the query
  std::uint32_t num_terms = 0;              ///< Q
  const std::uint32_t* sequence = nullptr;  ///< the query as indices into `terms`
  std::uint32_t length = 0;                 ///< terms of the query, repetitions included
  /// The distinct successors of term i in the sequence, as ascending indices into `terms`: followers[first_follower[i]]
  /// to followers[first_follower[i + 1]]. Null: search the sequence.
  const std::uint32_t* first_follower = nullptr;
  const std::uint32_t* followers = nullptr;
};

/// Parameters of features, equal for all indexes.
struct FeatureParameters {
  double mu = 2000;     ///< of Dirichlet smoothing
  double lambda = 0.1;  ///< the collection's share in Jelinek-Mercer smoothing
};

// A document as input of features: its streams and the hits of the query's terms in them (Tadros 2015, section 3.2:
// streams, phrases and word hits). Plain arrays, for every device.

/// An occurrence of a query term in a stream.
struct WordHit {
  std::uint32_t word;    ///< index into FeatureQueryView::terms
  std::uint32_t offset;  ///< tokens before it in the stream
  std::uint32_t phrase;  ///< phrases before its own in the stream
};

/// One stream of a document.
struct StreamView {
  FeatureQueryView query;
  double average_length = 1;      ///< of this stream over all documents; 1 if it is empty in all
  double k1 = 0, b = 0;           ///< BM25 parameters of the index
  std::uint32_t length = 0;       ///< tokens
  std::uint32_t phrases = 0;      ///< runs of tokens between phrase ends
  const WordHit* hits = nullptr;  ///< by offset
  std::uint32_t num_hits = 0;
  const std::uint32_t* tf = nullptr;  ///< hits in the stream, by term of the query
  std::uint32_t* scratch = nullptr;   ///< one number per term of the query, for use by families
};

/// A document and its first-stage score.
struct DocumentView {
  std::array<StreamView, num_document_streams> streams;
  double first_stage_score = 0;
  double pagerank = 0;  ///< 0 if the index has none
  double url_bytes = 0, url_depth = 0, links = 0, out_links = 0, in_links = 0;
};

/// Query terms matched in any stream of a document.
struct DocumentMatches {
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"matched", FeatureKind::dynamic, "distinct terms of the query with tf > 0 in any stream"},
      {"matched_share", FeatureKind::dynamic, "matched / Q; 0 if Q = 0"},
      {"matched_idf_share", FeatureKind::dependent, "Σ idf of these terms / Σ idf of all; 0 if that is 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    const FeatureQueryView& query = document.streams[0].query;
    std::uint32_t matched = 0;
    double idf_of_matched = 0, idf_of_all = 0;
    for (std::uint32_t i = 0; i < query.num_terms; ++i) {
      bool any = false;
      for (std::size_t s = 0; s < num_document_streams; ++s) any = any || document.streams[s].tf[i] > 0;
      matched += any;
      idf_of_all += query.terms[i].idf;
      if (any) idf_of_matched += query.terms[i].idf;
    }
    values[0] = matched;
    values[1] = query.num_terms == 0 ? 0.0 : values[0] / query.num_terms;
    values[2] = idf_of_all == 0 ? 0.0 : idf_of_matched / idf_of_all;
  }
};

/// Limits the memory of feature computation besides the features: hits of a query's terms in documents, and mapped
/// pages of files. Thread-safe. Unlimited by default.
class FeatureMemory {
 public:
  FeatureMemory() = default;
  /// `hit_bytes`: for the hits of all threads together. `pages`, which must outlive it, counts bytes read.
  FeatureMemory(std::uint64_t hit_bytes, unsigned threads, IndexPages& pages)
      : hits_(hit_bytes, threads), pages_(&pages) {}

  /// The budget from which hits are claimed, like a query's memory: a long document's hits are found alone.
  const QueryMemory& hits() const { return hits_; }
  /// Maximum bytes of hits found without a claim: half of a thread's share.
  std::uint64_t unclaimed_bytes() const { return hits_.max_share() / 2; }
  /// Maximum bytes of buffers that a thread keeps from one document to the next: at most the other half.
  std::uint64_t kept_bytes() const { return std::min(hits_.max_share() / 2, max_kept); }
  /// Call after reading `bytes` bytes of the forward file, or looking up a document.
  void note_read(std::uint64_t bytes) const {
    if (pages_ != nullptr) pages_->note_bytes(bytes);
  }

 private:
  static constexpr std::uint64_t max_kept = std::uint64_t{16} << 20;

  QueryMemory hits_;
  IndexPages* pages_ = nullptr;
};

inline const FeatureMemory unlimited_feature_memory;

}  // namespace quern
