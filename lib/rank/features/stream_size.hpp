#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How long a stream is.
struct StreamSize {
  static constexpr FeatureInfo features[] = {
      {"length", FeatureKind::fixed, "L: tokens of the stream"},
      {"phrases", FeatureKind::fixed, "runs of tokens between the ends of phrases"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.length;
    values[1] = stream.phrases;
  }
};

}  // namespace quern
