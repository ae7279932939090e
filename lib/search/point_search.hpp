#pragma once
#include "quern/search/query_engine.hpp"

namespace quern {

/// Values of the parameters of scores that are not fixed when an index is built.
struct ScoringPoint {
  Bm25Parameters bm25;
  double alpha = 0.3;  ///< of bm25_pagerank
  bool operator==(const ScoringPoint&) const = default;
};

/// Answers a query with many values of k1, b and alpha at once, as far as given documents are concerned: of the k best
/// documents for each point, it finds those that score at least as much as the worst of them. The lists are looked up,
/// decoded and merged once, and documents are scored for all points together; a document that can't be found for any
/// point isn't scored. Thread-safe.
class PointSearch {
 public:
  /// Points at a time: their numbers fill wide registers.
  static constexpr std::size_t max_points = 32;
  using Values = std::array<float, max_points>;

  /// `engines`: of all shards of an index in their order, with exact scores; their k1, b and alpha don't matter. They
  /// must outlive the object. Throws InvalidArgument for quantized scores, no point or too many of them, and for values
  /// out of range.
  PointSearch(std::vector<const QueryEngine*> engines, std::span<const ScoringPoint> points);

  struct Results {
    std::uint64_t count = 0;  ///< of results for each point: k, or all documents that contain a term
    /// By point: the first of these results, best first, ties in docID order; all others score less than the wanted
    /// documents.
    std::vector<std::vector<ScoredDocument>> best;
  };
  /// `wanted`: ascending docIDs of the whole index. Throws like QueryEngine::search().
  Results search(QueryView query, std::span<const docid_t> wanted, std::size_t k) const;

 private:
  friend class PointUnion;

  /// What a shard's documents have in common.
  struct Shard {
    const QueryEngine* engine;
    docid_t first_docid;
    /// By point: K of any document is at least this times the K that the index's bounds were made with.
    std::array<double, max_points> least_ratio;
    Values greatest_static_score;  ///< by point
  };

  Shard describe(const QueryEngine& engine, docid_t first_docid) const;

  std::vector<ScoringPoint> points_;
  // By point, with zeros behind them:
  alignas(64) std::array<double, max_points> k1_ = {}, b_ = {};
  alignas(64) Values alpha_ = {};
  std::vector<Shard> shards_;
};

}  // namespace quern
