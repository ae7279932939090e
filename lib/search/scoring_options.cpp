#include "quern/search/scoring_options.hpp"

namespace quern {

ScoringOptions scoring_of_index(const IndexReader& index, const GivenScoring& given) {
  const IndexManifest& manifest = index.manifest();
  ScoringOptions options;
  options.bm25 = {given.k1.value_or(manifest.bm25.k1), given.b.value_or(manifest.bm25.b)};
  if (!index.global_scores().empty() && manifest.scores) options.alpha = manifest.scores->alpha;
  options.alpha = given.alpha.value_or(options.alpha);
  return options;
}

}  // namespace quern
