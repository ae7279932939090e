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

/// A linear model of samples and what it is worth.
struct FittedModel {
  LinearCost model;
  double error = 0;  ///< mean absolute residual, times what tells how far its parameters may fit chance alone
};

/// Fits by least squares, and leaves out inputs as long as the error becomes no larger: Quinlan's (n + v) / (n − v)
/// times the mean absolute residual, with v parameters. `samples` has at least one.
FittedModel fit_linear(std::span<const TreeSample* const> samples);

}  // namespace quern
