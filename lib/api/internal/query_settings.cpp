#include "quern/api/internal/query_settings.hpp"

#include <algorithm>
#include <string>

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

std::vector<QueryTerm> query_terms(std::span<const WeightedTerm> terms) {
  std::vector<WeightedTerm> sorted(terms.begin(), terms.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WeightedTerm& a, const WeightedTerm& b) { return a.term < b.term; });
  std::vector<QueryTerm> out;
  out.reserve(sorted.size());
  for (const WeightedTerm& term : sorted) {
    if (!out.empty() && out.back().term == term.term && out.back().weight >= 0 && term.weight >= 0) {
      out.back().weight += term.weight;
    } else {
      out.push_back({std::string(term.term), term.weight});
    }
  }
  return out;
}

}  // namespace quern::api
