#pragma once
#include "quern/formats/tables/cost_file.hpp"

/// Regression trees with linear models in their leaves: M5 (Quinlan 1992: Learning with continuous classes), with the
/// simpler models, pruning and smoothing of M5' (Wang and Witten 1997: Inducing model trees for continuous classes).
namespace quern {

struct TreeSample {
  CostInput input;
  double target = 0;
};

/// Fits a tree, deterministically. Inputs and targets must be finite. Throws InvalidArgument without samples.
ModelTree fit_model_tree(std::span<const TreeSample> samples);

/// A linear model and its error on the samples.
struct FittedModel {
  LinearCost model;
  double error = 0;  ///< mean absolute residual, times a penalty for its parameters
};

/// Fits by least squares, and drops inputs as long as the error does not grow: Quinlan's (n + v) / (n − v) times the
/// mean absolute residual, with v parameters. `samples` has at least one.
FittedModel fit_linear(std::span<const TreeSample* const> samples);

}  // namespace quern
