#pragma once
#include <cmath>

#include "quern/core/natural_log.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

/// Transformations of features into a network's inputs, and activations: one definition for the CPU and GPUs, in
/// float32, with each operation rounded once.
namespace quern {

/// Functions for free-form transformations of a feature's value x, with the parameters p1 and p2.
enum class FreeFunction : std::uint8_t {
  square,
  root,
  reciprocal,
  absolute,
  log2,
  exponential,
  saturation,
  clamp,
  sigmoid,
  tanh,
};

/// The registry of free functions.
inline constexpr NamedValue<FreeFunction> all_free_functions[] = {
    {"square", FreeFunction::square, "x² · p1 + p2"},
    {"root", FreeFunction::root, "√x · p1 + p2; a negative x counts as 0"},
    {"reciprocal", FreeFunction::reciprocal, "1/x · p1 + p2"},
    {"absolute", FreeFunction::absolute, "|x| · p1 + p2"},
    {"log2", FreeFunction::log2, "log2(x + 1) · p1 + p2; x is clamped to at least the float32 after -1"},
    {"exponential", FreeFunction::exponential, "e^x · p1 + p2"},
    {"saturation", FreeFunction::saturation, "x / (x + p1) + p2"},
    {"clamp", FreeFunction::clamp, "p1 if x < p1, p2 if x > p2, else x"},
    {"sigmoid", FreeFunction::sigmoid, "1 / (1 + e^-(x · p1 + p2))"},
    {"tanh", FreeFunction::tanh, "tanh(x · p1 + p2)"},
};

/// Throws InvalidArgument, listing all names, if the name is unknown.
inline FreeFunction free_function_named(std::string_view name) {
  return find_named(all_free_functions, name, "ranker function").value;
}

struct Parameters {
  float p1 = 1, p2 = 0;
};

constexpr float apply_free_function(FreeFunction function, float x, Parameters p) {
  switch (function) {
    case FreeFunction::square:
      return x * x * p.p1 + p.p2;
    case FreeFunction::root:
      return std::sqrt(x < 0 ? 0.0f : x) * p.p1 + p.p2;
    case FreeFunction::reciprocal:
      return 1.0f / x * p.p1 + p.p2;
    case FreeFunction::absolute:
      return (x < 0 ? -x : x) * p.p1 + p.p2;
    case FreeFunction::log2:
      return static_cast<float>(natural_log(static_cast<double>(above_minus_one(x)) + 1.0) * 0x1.71547652b82fep+0) *
                 p.p1 +
             p.p2;
    case FreeFunction::exponential:
      return static_cast<float>(quern::exponential(static_cast<double>(x))) * p.p1 + p.p2;
    case FreeFunction::saturation:
      return x / (x + p.p1) + p.p2;
    case FreeFunction::clamp:
      return x < p.p1 ? p.p1 : x > p.p2 ? p.p2 : x;
    case FreeFunction::sigmoid:
      return logistic(x * p.p1 + p.p2);
    case FreeFunction::tanh:
      return hyperbolic_tangent(x * p.p1 + p.p2);
  }
  return x;
}

constexpr float apply_linear(float x, Parameters p) { return x * p.p1 + p.p2; }
constexpr float apply_log_linear(float x, Parameters p) { return log_of_next(x) * p.p1 + p.p2; }
/// NaN is in no bucket.
constexpr float apply_bucket(float x, Parameters p) { return x >= p.p1 && x < p.p2 ? 1.0f : 0.0f; }

/// Applies an activation to a neuron's sum. relu turns NaN into 0; the others keep it.
constexpr float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::relu:
      return x > 0 ? x : 0.0f;
    case Activation::sigmoid:
      return logistic(x);
    case Activation::tanh:
      return hyperbolic_tangent(x);
    default:
      return x;
  }
}

/// Writes the transformation of values[d] to out[d]. `function` applies to free-form transformations.
void transform(const Transformation& transformation, FreeFunction function, std::span<const float> values, float* out);
/// Applies an activation to each value.
void activate_all(Activation activation, std::span<float> values);

/// Evaluates a network over blocks of documents: each input and each neuron is a row of documents_per_block values.
class NetworkEvaluator {
 public:
  /// The model must pass check_model().
  NetworkEvaluator(const NetworkModel& model, SimdLevel level);

  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

 private:
  /// A block's rows: inputs and the neurons of two layers.
  struct Rows {
    std::vector<float> inputs, neurons, next_neurons;
  };

  std::unique_ptr<Rows> make_rows() const;
  void score_block(const FeatureColumns& block, std::span<double> scores, Rows& rows, StageClock& clock) const;

  const RankerKernels& kernels_;
  std::vector<Transformation> transformations_;
  std::vector<FreeFunction> functions_;  ///< by transformation; set for free-form ones
  TreeEvaluator trees_;
  std::vector<DenseLayer> layers_;
  /// Pooled, since allocating a megabyte takes longer than scoring a few documents.
  mutable SparePool<Rows> rows_;
};

}  // namespace quern
