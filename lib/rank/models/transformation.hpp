#pragma once
#include <cmath>

#include "quern/core/natural_log.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

/// Transformations of features into a network's inputs, and activations: one definition for the CPU and GPUs, in
/// float32, with each operation rounded once.
namespace quern {

/// An operation of an expression on its last operand, or its last two.
constexpr float apply_operation(ExpressionCode code, float x, float y) {
  switch (code) {
    case ExpressionCode::negate:
      return -x;
    case ExpressionCode::absolute:
      return x < 0 ? -x : x;
    case ExpressionCode::root:
      return std::sqrt(x);
    case ExpressionCode::log:
      return static_cast<float>(natural_log(static_cast<double>(x)));
    case ExpressionCode::exponential:
      return static_cast<float>(exponential(static_cast<double>(x)));
    case ExpressionCode::sigmoid:
      return logistic(x);
    case ExpressionCode::tanh:
      return hyperbolic_tangent(x);
    case ExpressionCode::add:
      return x + y;
    case ExpressionCode::subtract:
      return x - y;
    case ExpressionCode::multiply:
      return x * y;
    case ExpressionCode::divide:
      return x / y;
    case ExpressionCode::minimum:
      return y < x ? y : x;
    case ExpressionCode::maximum:
      return y > x ? y : x;
    default:
      return x;
  }
}

/// The value of a valid expression for one document, of which value_of(feature) gives the features.
template <class ValueOf>
constexpr float expression_value(const ExpressionStep* steps, std::uint32_t count, const ValueOf& value_of) {
  float values[max_expression_values + 1] = {};
  unsigned size = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ExpressionStep& step = steps[i];
    size += 1 - operands_of(step.code);
    float& last = values[size - 1];
    last = step.code == ExpressionCode::number    ? step.number
           : step.code == ExpressionCode::feature ? value_of(step.feature)
                                                  : apply_operation(step.code, last, values[size]);
  }
  return values[0];
}

struct Parameters {
  float p1 = 1, p2 = 0;
};

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

/// Writes the input that a transformation makes of document d's features to out[d]; at most documents_per_block.
void transform(const Transformation& transformation, const FeatureColumns& features, float* out);
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
  TreeEvaluator trees_;
  std::vector<DenseLayer> layers_;
  /// Pooled, since allocating a megabyte takes longer than scoring a few documents.
  mutable SparePool<Rows> rows_;
};

}  // namespace quern
