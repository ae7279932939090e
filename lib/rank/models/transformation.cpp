#include "quern/rank/models/transformation.hpp"

namespace quern {
namespace {

/// One loop per function, so that compilers vectorize it (the flag is in cmake/layers.cmake).
template <class Function>
void transform_each(std::span<const float> values, float* out, Function function) {
  for (std::size_t d = 0; d < values.size(); ++d) out[d] = function(values[d]);
}

template <FreeFunction function>
void transform_free(std::span<const float> values, float* out, Parameters p) {
  transform_each(values, out, [p](float x) { return apply_free_function(function, x, p); });
}

void transform_free(FreeFunction function, std::span<const float> values, float* out, Parameters p) {
  switch (function) {
    case FreeFunction::square:
      return transform_free<FreeFunction::square>(values, out, p);
    case FreeFunction::root:
      return transform_free<FreeFunction::root>(values, out, p);
    case FreeFunction::reciprocal:
      return transform_free<FreeFunction::reciprocal>(values, out, p);
    case FreeFunction::absolute:
      return transform_free<FreeFunction::absolute>(values, out, p);
    case FreeFunction::log2:
      return transform_free<FreeFunction::log2>(values, out, p);
    case FreeFunction::exponential:
      return transform_free<FreeFunction::exponential>(values, out, p);
    case FreeFunction::saturation:
      return transform_free<FreeFunction::saturation>(values, out, p);
    case FreeFunction::clamp:
      return transform_free<FreeFunction::clamp>(values, out, p);
    case FreeFunction::sigmoid:
      return transform_free<FreeFunction::sigmoid>(values, out, p);
    case FreeFunction::tanh:
      return transform_free<FreeFunction::tanh>(values, out, p);
  }
}

template <Activation activation>
void activate_each(std::span<float> values) {
  transform_each(values, values.data(), [](float x) { return activate(activation, x); });
}

}  // namespace

void transform(const Transformation& transformation, FreeFunction function, std::span<const float> values, float* out) {
  const Parameters p = {transformation.p1, transformation.p2};
  switch (transformation.kind) {
    case TransformationKind::linear:
      return transform_each(values, out, [p](float x) { return apply_linear(x, p); });
    case TransformationKind::log_linear:
      return transform_each(values, out, [p](float x) { return apply_log_linear(x, p); });
    case TransformationKind::bucket:
      return transform_each(values, out, [p](float x) { return apply_bucket(x, p); });
    case TransformationKind::free_form:
      return transform_free(function, values, out, p);
  }
}

void activate_all(Activation activation, std::span<float> values) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return activate_each<Activation::relu>(values);
    case Activation::sigmoid:
      return activate_each<Activation::sigmoid>(values);
    case Activation::tanh:
      return activate_each<Activation::tanh>(values);
  }
}

}  // namespace quern
