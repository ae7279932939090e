#pragma once
#include <string>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Throws CorruptFile, with tree and node or layer, unless a model keeps what ranker_model.hpp promises: numbers in
/// range, children after their parents, each node and leaf in one place of its tree, leaves from left to right,
/// thresholds that are numbers, finite values, layers that fit each other. `name` is what messages call it.
void check_model(const RankerModel& model, const std::string& name);

}  // namespace quern
