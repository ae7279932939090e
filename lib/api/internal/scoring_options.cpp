#include "quern/api/internal/scoring_options.hpp"

namespace quern::api {

ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index) {
  ScoringOptions options;
  options.bm25 = index.manifest().bm25;
  if (scoring.k1) options.bm25.k1 = *scoring.k1;
  if (scoring.b) options.bm25.b = *scoring.b;
  options.idf = scoring.idf == Idf::lucene ? quern::Idf::lucene : quern::Idf::robertson;
  options.scores = scoring.scores == Scores::exact ? quern::Scores::exact : quern::Scores::quantized;
  options.scorer = scoring.scorer == Scorer::bm25 ? quern::Scorer::bm25 : quern::Scorer::bm25_pagerank;
  if (!index.global_scores().empty() && index.manifest().scores) options.alpha = index.manifest().scores->alpha;
  if (scoring.alpha) options.alpha = *scoring.alpha;
  options.early_termination = scoring.early_termination;
  options.query_scale = scoring.query_scale;
  if (scoring.vectors) options.text = QueryText::vector;
  return options;
}

}  // namespace quern::api
