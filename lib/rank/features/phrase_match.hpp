#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// The phrase of a stream that has most of the query's terms.
struct PhraseMatch {
  static constexpr FeatureInfo features[] = {
      {"phrase_match", FeatureKind::dynamic,
       "greatest number of distinct terms of the query in one phrase, / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i)
      stream.scratch[i] = 0;  // the last phrase that has it, + 1
    std::uint32_t greatest = 0, distinct = 0;
    for (std::uint32_t i = 0; i < stream.num_hits; ++i) {
      const WordHit& hit = stream.hits[i];
      if (i > 0 && hit.phrase != stream.hits[i - 1].phrase) distinct = 0;
      if (stream.scratch[hit.word] != hit.phrase + 1) ++distinct;
      stream.scratch[hit.word] = hit.phrase + 1;
      if (distinct > greatest) greatest = distinct;
    }
    values[0] = stream.query.num_terms == 0 ? 0.0 : static_cast<double>(greatest) / stream.query.num_terms;
  }
};

}  // namespace quern
