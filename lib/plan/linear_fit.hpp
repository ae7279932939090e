#pragma once
#include <span>

#include "quern/plan/model_tree.hpp"

namespace quern {

/// A linear model of samples and what it is worth.
struct FittedModel {
  LinearCost model;
  double error = 0;  ///< mean absolute residual, times what tells how far its parameters may fit chance alone
};

/// Fits by least squares, and leaves out inputs as long as the error becomes no larger: Quinlan's (n + v) / (n − v)
/// times the mean absolute residual, with v parameters. `samples` has at least one.
FittedModel fit_linear(std::span<const TreeSample* const> samples);

}  // namespace quern
