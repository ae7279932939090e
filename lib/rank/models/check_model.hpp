#pragma once
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Throws InvalidArgument, with the place, if a model breaks the rules of ranker_model.hpp that keep evaluation in
/// bounds: numbers of features and inputs, children, leaves, groups and sizes of layers. NaN thresholds are invalid,
/// too. Readers give better messages for files; this check is for models from any source.
void check_model(const RankerModel& model);

}  // namespace quern
