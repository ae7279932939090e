#pragma once
#include <span>

#include "quern/formats/tables/cost_file.hpp"

/// Regression trees with linear models in their leaves: M5 (Quinlan 1992: Learning with continuous classes), with the
/// simpler models, pruning and smoothing of M5' (Wang and Witten 1997: Inducing model trees for continuous classes).
namespace quern {

struct TreeSample {
  CostInput input;
  double target = 0;
};

/// A tree for these samples; the same ones give the same tree. Finite inputs and targets are needed. Throws
/// InvalidArgument without samples.
ModelTree fit_model_tree(std::span<const TreeSample> samples);

}  // namespace quern
