#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// The shortest part of a stream that has all of the query's terms that the stream has.
struct LeastSpan {
  static constexpr FeatureInfo features[] = {
      {"span", FeatureKind::dynamic, "tokens of the shortest run that has all m matched terms; 0 if m = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t missing = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      stream.scratch[i] = 0;  // hits within the run
      missing += stream.tf[i] > 0;
    }
    std::uint32_t least = 0, begin = 0;
    for (std::uint32_t end = 0; end < stream.num_hits; ++end) {
      if (stream.scratch[stream.hits[end].word]++ == 0) --missing;
      for (; missing == 0; ++begin) {
        const std::uint32_t span = stream.hits[end].offset - stream.hits[begin].offset + 1;
        if (least == 0 || span < least) least = span;
        if (--stream.scratch[stream.hits[begin].word] == 0) ++missing;
      }
    }
    values[0] = least;
  }
};

}  // namespace quern
