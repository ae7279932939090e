#pragma once
#include "quern/search/query_engine.hpp"

/// How a document got its score: every number of formats/scores.md.
namespace quern {

/// What a term of the query contributes.
struct TermExplanation {
  std::string term;
  double count = 1;      ///< n: its occurrences in the query, or its weight there
  std::uint64_t df = 0;  ///< documents of the whole collection that contain it; 0 if the index or shard doesn't have
                         ///< it: then it has no idf and weight
  double idf = 0;        ///< with exact scores
  float weight = 0;      ///< of the term; n with integer scores
  freq_t freq = 0;       ///< in the document; 0 if it doesn't contain the term. With given impacts: the weight there
  float impact = 0;      ///< f / (K + f), with exact scores
  std::uint32_t integer = 0;  ///< the quantized impact or given weight, with integer scores
  float score = 0;            ///< the term score
  float sum = 0;              ///< of the score up to this term
};

struct ScoreExplanation {
  bool has_integers = false;  ///< scores are sums of quantized or given impacts
  std::uint32_t length = 0;   ///< tokens of the document
  double average_length = 0;
  float constant = 0;                  ///< K of the document
  std::optional<float> pagerank;       ///< with the scorer bm25+pagerank
  float static_score = 0;              ///< with which the sum begins
  std::vector<TermExplanation> terms;  ///< in the order of summation; then those that the index doesn't have
  std::optional<float> score;          ///< none: the document contains no term and is never a result
};

/// Computes a document's score term by term, as algorithms do. Throws InvalidArgument if the docID isn't below the
/// index's number of documents, and like QueryEngine::search().
ScoreExplanation explain_score(const QueryEngine& engine, QueryView query, docid_t docid);

}  // namespace quern
