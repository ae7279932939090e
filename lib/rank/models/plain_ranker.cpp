#include "quern/rank/models/ranker.hpp"
#include "quern/rank/models/transformation.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

namespace quern {
namespace {

/// A document's features.
struct PlainDocument {
  const FeatureColumns& features;
  std::size_t document;

  float value(std::uint32_t feature) const { return features.column(feature)[document]; }
};

double plain_leaf(const TreeEnsemble& trees, std::uint64_t tree, const PlainDocument& document) {
  const double* const leaves = trees.leaves.data() + trees.first_leaf[tree];
  if (trees.first_node[tree] == trees.first_node[tree + 1]) return leaves[0];
  std::int32_t at = 0;
  while (at >= 0) {
    const TreeNode& node = trees.nodes[trees.first_node[tree] + static_cast<std::uint64_t>(at)];
    const TreeInput& input = trees.inputs[node.input];
    const float value = input_value(input, document.value(input.feature));
    at = goes_left(value, node.threshold, node.missing_left) ? node.left : node.right;
  }
  return leaves[-(at + 1)];
}

double plain_sum(const TreeEnsemble& trees, std::uint64_t first, std::uint64_t end, const PlainDocument& document) {
  double sum = trees.base;
  for (std::uint64_t tree = first; tree < end; ++tree) {
    sum += plain_leaf(trees, tree, document);
    if (trees.sum == TreeSum::float32) sum = static_cast<double>(static_cast<float>(sum));
  }
  return sum;
}

double plain_score(const TreeEnsemble& trees, const PlainDocument& document) {
  if (trees.group_ends.empty()) return plain_sum(trees, 0, trees.trees(), document);
  double total = 0;
  std::uint64_t first = 0;
  for (const std::uint64_t end : trees.group_ends) {
    total += plain_sum(trees, first, end, document);
    first = end;
  }
  return total / static_cast<double>(trees.group_ends.size());
}

double plain_score(const LinearModel& model, const PlainDocument& document) {
  double sum = model.intercept;
  for (const LinearModel::Term& term : model.terms) sum += term.weight * linear_input(document.value(term.feature));
  return sum;
}

float plain_transformed(const Transformation& transformation, const PlainDocument& document) {
  const float x = document.value(transformation.feature);
  const Parameters p = {transformation.p1, transformation.p2};
  switch (transformation.kind) {
    case TransformationKind::log_linear:
      return apply_log_linear(x, p);
    case TransformationKind::bucket:
      return apply_bucket(x, p);
    case TransformationKind::free_form:
      return expression_value(transformation.expression.data(),
                              static_cast<std::uint32_t>(transformation.expression.size()),
                              [&](std::uint32_t feature) { return document.value(feature); });
    default:
      return apply_linear(x, p);
  }
}

std::vector<float> plain_layer(const DenseLayer& layer, const std::vector<float>& in) {
  std::vector<float> out(layer.outputs);
  for (std::size_t j = 0; j < layer.outputs; ++j) {
    float sum = layer.bias[j];
    for (std::size_t i = 0; i < layer.inputs; ++i) sum += in[i] * layer.weights[j * layer.inputs + i];
    out[j] = activate(layer.activation, sum);
  }
  return out;
}

double plain_score(const NetworkModel& model, const PlainDocument& document) {
  std::vector<float> values;
  for (const Transformation& transformation : model.transformations)
    values.push_back(plain_transformed(transformation, document));
  for (std::uint64_t tree = 0; tree < model.trees.trees(); ++tree)
    values.push_back(static_cast<float>(plain_leaf(model.trees, tree, document)));
  for (const DenseLayer& layer : model.layers) values = plain_layer(layer, values);
  return static_cast<double>(values[0]);
}

class PlainRanker : public Ranker {
 public:
  explicit PlainRanker(const RankerModel& model) : model_(model) { check_model(model); }

  void score(const FeatureColumns& features, std::span<double> scores) const override {
    std::visit(
        [&](const auto& function) {
          for (std::size_t d = 0; d < features.documents; ++d)
            scores[d] = settled(plain_score(function, {features, d}));
        },
        model_.function);
  }

 private:
  RankerModel model_;
};

}  // namespace

std::unique_ptr<Ranker> make_plain_ranker(const RankerModel& model) { return std::make_unique<PlainRanker>(model); }

}  // namespace quern
