#include "quern/api/internal/query_settings.hpp"

namespace quern::api {

ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index) {
  ScoringOptions options = scoring_of_index(index, {scoring.k1, scoring.b, scoring.alpha});
  options.idf = scoring.idf == Idf::lucene ? quern::Idf::lucene : quern::Idf::robertson;
  options.scores = scoring.scores == Scores::exact ? quern::Scores::exact : quern::Scores::quantized;
  options.scorer = scoring.scorer == Scorer::bm25 ? quern::Scorer::bm25 : quern::Scorer::bm25_pagerank;
  options.early_termination = scoring.early_termination;
  options.query_scale = scoring.query_scale;
  return options;
}

QueryTerms terms_of(const Query& vector) {
  QueryTerms terms;
  terms.reserve(vector.terms().size());
  for (const WeightedTerm& term : vector.terms()) terms.push_back({std::string(term.term), term.weight});
  return terms;
}

}  // namespace quern::api
