#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/search/top_k.hpp"

#include "index/pipeline/random_corpus.hpp"

/// A reference for an index's contents and results, computed naively from the documents' tokens. Uses no library code
/// except its result type.
namespace quern::testing {

struct ModelPosting {
  docid_t docid = 0;
  freq_t freq = 0;
  bool operator==(const ModelPosting&) const = default;
};

struct ModelScoring {
  double k1 = 1.2, b = 0.75;
  bool robertson = false;
  unsigned quantize_bits = 0;        ///< scores are sums of integers of this many bits; 0: exact scores
  std::vector<float> pagerank = {};  ///< by docID; empty: not used in scores
  double alpha = 0;                  ///< weight of PageRank
};

class ModelIndex {
 public:
  /// order[docID] is the document's index in `documents`.
  ModelIndex(const std::vector<ModelDocument>& documents, std::span<const docid_t> order);

  const std::vector<const ModelDocument*>& documents() const { return documents_; }
  const std::map<std::string, std::vector<ModelPosting>>& lists() const { return lists_; }
  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t postings() const { return postings_; }

  /// The weight of a term that occurs `count` times in the query.
  float weight(std::size_t df, int count, const ModelScoring& scoring = {}) const;
  /// The inverse document frequency.
  double idf(std::size_t df, const ModelScoring& scoring = {}) const;
  /// The maximum term score of all postings, for terms that occur once in the query.
  float top_term_score(const ModelScoring& scoring = {}) const;
  /// f / (K_d + f), as float32.
  float term_score(const ModelPosting& posting, const ModelScoring& scoring = {}) const;
  /// The k best documents with any (all) of the terms: scored one by one and sorted.
  std::vector<ScoredDocument> search(const std::vector<std::string>& terms, bool conjunctive, std::size_t k,
                                     const ModelScoring& scoring = {}) const;

 private:
  std::vector<const ModelDocument*> documents_;  ///< by docID
  std::map<std::string, std::vector<ModelPosting>> lists_;
  std::uint64_t tokens_ = 0, postings_ = 0;
};

}  // namespace quern::testing
