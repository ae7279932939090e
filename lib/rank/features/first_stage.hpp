#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// What the first stage said of the document.
struct FirstStage {
  static constexpr std::string_view group = "first_stage";
  static constexpr FeatureInfo features[] = {
      {"score", FeatureKind::dependent, "the document's score in the run that is reordered"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    values[0] = document.first_stage_score;
  }
};

}  // namespace quern
