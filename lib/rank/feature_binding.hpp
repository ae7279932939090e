#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// A model whose features are Quern's.
struct BoundModel {
  RankerModel model;                     ///< reads only features that it uses, each once
  std::vector<std::uint32_t> selection;  ///< numbers in all_features() of the model's features
};

/// Finds the features that a model uses. A feature with the name of one of Quern's is that; one with a number is that
/// of `list`: counted from 1, as `quern features` numbers them with the same list, or from 0 if the model was trained
/// with just as many columns as the list has features, as arrays have them. Throws InvalidArgument, with the file's
/// name and the feature, if none fits, or if the model was trained with another number of columns.
BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name);

}  // namespace quern
