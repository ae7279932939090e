#pragma once
#include "quern/core/named.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// As descriptions and figures call them.
inline constexpr NamedValue<TransformationKind> transformation_names[] = {
    {"linear", TransformationKind::linear, "x · p1 + p2"},
    {"log-linear", TransformationKind::log_linear, "ln(x + 1) · p1 + p2"},
    {"bucket", TransformationKind::bucket, "1 if p1 <= x < p2, else 0"},
    {"free-form", TransformationKind::free_form, "a function by name"},
};
inline constexpr NamedValue<Activation> activation_names[] = {
    {"none", Activation::none, "the sum itself"},
    {"relu", Activation::relu, "0 for what is below 0"},
    {"sigmoid", Activation::sigmoid, "1 / (1 + exp(-x))"},
    {"tanh", Activation::tanh, "the hyperbolic tangent"},
};

}  // namespace quern
