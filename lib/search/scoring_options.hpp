#pragma once
#include <optional>

#include "quern/core/bm25.hpp"
#include "quern/core/named.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/search/query_text.hpp"

namespace quern {

/// Term scores are exact, or quantized: the posting's quantized impact in the index times the occurrences of the term
/// in the query. Quantized scores are sums of integers. Where the corpus gave the impacts, scores are always quantized.
enum class Scores { exact, quantized };

inline constexpr NamedValue<Scores> scores_names[] = {
    {"exact", Scores::exact, "32-bit floating point"},
    {"quantized", Scores::quantized, "sums of the integers that --quantize stored in the index"},
};

inline constexpr NamedValue<Idf> idf_names[] = {{"lucene", Idf::lucene}, {"robertson", Idf::robertson}};

/// bm25_pagerank: alpha · PageRank + (1 - alpha) · BM25, both in [0, 1] (Wang et al. 3.2). In float32, the sum of a
/// document's term scores begins with alpha ⊗ PageRank, and w_t is (1 - alpha) times the term's share of the query's
/// IDF.
enum class Scorer { bm25, bm25_pagerank };

/// Scorers as command lines and plans name them.
inline constexpr NamedValue<Scorer> scorer_names[] = {
    {"bm25", Scorer::bm25, "BM25 alone"},
    {"bm25+pagerank", Scorer::bm25_pagerank, "A * PageRank + (1 - A) * BM25, both from 0 to 1, for --alpha A"},
};

/// The range of weights of terms in queries, and of scales. With them, no number on the way to a score leaves the range
/// of normal float32 numbers.
inline constexpr double min_query_weight = 1e-9, max_query_weight = 1e9;

/// How documents are scored.
struct ScoringOptions {
  Bm25Parameters bm25;
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  Scorer scorer = Scorer::bm25;
  double alpha = 0.3;             ///< of bm25_pagerank, 0 to 1
  bool early_termination = true;  ///< if it is possible: see QueryEngine::why_not_early()
  QueryText text = QueryText::words;
  /// With quantized scores: weights of QueryTerms are multiplied by it and rounded, but not to 0.
  std::optional<double> query_scale = std::nullopt;
};

/// What a user says of numbers that an index has, too.
struct GivenScoring {
  std::optional<double> k1, b, alpha;
};

/// Options with the index's k1, b and alpha where none are given; alpha is 0.3 where the index has none.
ScoringOptions scoring_of_index(const IndexReader& index, const GivenScoring& given);

}  // namespace quern
