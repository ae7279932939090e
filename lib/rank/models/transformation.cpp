#include "quern/rank/models/transformation.hpp"

namespace quern {
namespace {

/// One loop per function, so that compilers vectorize it (the flag is in cmake/layers.cmake).
template <class Function>
void transform_each(std::span<const float> values, float* out, Function function) {
  for (std::size_t d = 0; d < values.size(); ++d) out[d] = function(values[d]);
}

template <ExpressionCode code>
void apply_each(std::span<float> x, const float* y) {
  for (std::size_t d = 0; d < x.size(); ++d) x[d] = apply_operation(code, x[d], y[d]);
}

template <std::size_t... code>
void apply_each(ExpressionCode wanted, std::span<float> x, const float* y, std::index_sequence<code...>) {
  constexpr std::array apply = {apply_each<static_cast<ExpressionCode>(code)>...};
  apply[static_cast<std::size_t>(wanted)](x, y);
}

/// Evaluates an expression step by step, each for all documents.
void evaluate(std::span<const ExpressionStep> expression, const FeatureColumns& features, float* out) {
  constexpr std::size_t codes = static_cast<std::size_t>(ExpressionCode::maximum) + 1;
  std::array<float, (max_expression_values + 1) * documents_per_block> values{};
  unsigned size = 0;
  for (const ExpressionStep& step : expression) {
    size += 1 - operands_of(step.code);
    float* const last = values.data() + std::size_t{size - 1} * documents_per_block;
    if (step.code == ExpressionCode::number)
      std::fill_n(last, features.documents, step.number);
    else if (step.code == ExpressionCode::feature)
      std::copy_n(features.column(step.feature), features.documents, last);
    else
      apply_each(step.code, {last, features.documents}, last + documents_per_block, std::make_index_sequence<codes>());
  }
  std::copy_n(values.data(), features.documents, out);
}

template <Activation activation>
void activate_each(std::span<float> values) {
  transform_each(values, values.data(), [](float x) { return activate(activation, x); });
}

}  // namespace

void transform(const Transformation& transformation, const FeatureColumns& features, float* out) {
  const Parameters p = {transformation.p1, transformation.p2};
  const std::span values(features.column(transformation.feature), features.documents);
  switch (transformation.kind) {
    case TransformationKind::linear:
      return transform_each(values, out, [p](float x) { return apply_linear(x, p); });
    case TransformationKind::log_linear:
      return transform_each(values, out, [p](float x) { return apply_log_linear(x, p); });
    case TransformationKind::bucket:
      return transform_each(values, out, [p](float x) { return apply_bucket(x, p); });
    case TransformationKind::free_form:
      return evaluate(transformation.expression, features, out);
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

NetworkEvaluator::NetworkEvaluator(const NetworkModel& model, SimdLevel level)
    : kernels_(ranker_kernels_of(level)),
      transformations_(model.transformations),
      trees_(model.trees, level),
      layers_(model.layers),
      rows_([this] { return make_rows(); }) {}

std::unique_ptr<NetworkEvaluator::Rows> NetworkEvaluator::make_rows() const {
  std::size_t max_outputs = 1;
  for (const DenseLayer& layer : layers_) max_outputs = std::max<std::size_t>(max_outputs, layer.outputs);
  auto rows = std::make_unique<Rows>();
  rows->inputs.resize(std::size_t{layers_.front().inputs} * documents_per_block);
  rows->neurons.resize(max_outputs * documents_per_block);
  rows->next_neurons.resize(max_outputs * documents_per_block);
  return rows;
}

void NetworkEvaluator::score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const {
  const auto rows = rows_.borrow();
  for (std::size_t first = 0; first < features.documents; first += documents_per_block) {
    const std::size_t documents = std::min<std::size_t>(documents_per_block, features.documents - first);
    score_block({features.values + first, documents, features.stride}, scores.subspan(first, documents), *rows, clock);
  }
}

void NetworkEvaluator::score_block(const FeatureColumns& block, std::span<double> scores, Rows& rows,
                                   StageClock& clock) const {
  for (std::size_t i = 0; i < transformations_.size(); ++i)
    transform(transformations_[i], block, rows.inputs.data() + i * documents_per_block);
  trees_.store(block, rows.inputs.data() + transformations_.size() * documents_per_block, clock);
  const float* in = rows.inputs.data();
  for (const DenseLayer& layer : layers_) {
    kernels_.sum_layer({&layer, in, rows.next_neurons.data()}, static_cast<unsigned>(block.documents));
    for (std::size_t j = 0; j < layer.outputs; ++j)
      activate_all(layer.activation, {rows.next_neurons.data() + j * documents_per_block, block.documents});
    std::swap(rows.neurons, rows.next_neurons);
    in = rows.neurons.data();
  }
  for (std::size_t d = 0; d < block.documents; ++d) scores[d] = settled(static_cast<double>(in[d]));
  clock.end(&RankerStages::layers);
}

}  // namespace quern
