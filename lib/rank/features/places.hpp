#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// Where the first and the last of the query's terms are in a stream.
struct Places {
  static constexpr FeatureInfo features[] = {
      {"first", FeatureKind::dynamic, "tokens before the first hit; L if there is none"},
      {"last", FeatureKind::dynamic, "tokens up to the last hit, that included; 0 if there is none"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.num_hits == 0 ? stream.length : stream.hits[0].offset;
    values[1] = stream.num_hits == 0 ? 0.0 : stream.hits[stream.num_hits - 1].offset + 1.0;
  }
};

}  // namespace quern
