#pragma once
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Throws InvalidArgument, with the place, unless a model keeps what ranker_model.hpp says of it, so that evaluation
/// stays in bounds: numbers of features and inputs, children, leaves, groups and the sizes of layers. Thresholds are no
/// NaN. Readers say more about files; this is for models from anywhere.
void check_model(const RankerModel& model);

}  // namespace quern
