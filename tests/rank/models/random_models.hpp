#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/transformation.hpp"

/// Random models and features, with values that are hard to evaluate.
namespace quern::test {

using ModelRandom = std::mt19937_64;

/// The shape of a random ensemble.
struct EnsembleShape {
  std::uint32_t trees = 10, min_leaves = 1, max_leaves = 64, features = 8;
  std::uint32_t distinct_thresholds = 50;  ///< per input
  bool chains = false;                     ///< each node has a leaf
  bool special_values = true;              ///< among leaves and thresholds
};

/// A number that loops might handle differently.
inline float special_value(ModelRandom& random) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float values[] = {0.0f,    -0.0f,    inf,   -inf,   1e-45f, -1e-45f, 1e-38f, 1e-35f,
                              -1e-35f, 1.1e-35f, 3e38f, -3e38f, 1.0f,   -1.0f,   2.5f,   7.0f};
  return values[random() % std::size(values)];
}

inline float random_number(ModelRandom& random, std::uint32_t distinct) {
  return static_cast<float>(static_cast<std::int64_t>(random() % distinct) - distinct / 2) * 0.25f;
}

inline TreeInput random_input(ModelRandom& random, std::uint32_t features) {
  TreeInput input;
  input.feature = static_cast<std::uint32_t>(random() % features);
  input.kind = static_cast<TreeInputKind>(random() % 5);
  if (input.kind == TreeInputKind::in_values)
    for (const float value : {0.0f, 0.25f, 1.0f, 2.5f, 3e38f, -1.0f}) input.categories.push_back(value_key(value));
  if (input.kind == TreeInputKind::in_categories)
    for (std::uint32_t category = 0; category < 40; ++category)
      if (random() % 3 == 0) input.categories.push_back(category);
  return input;
}

/// Adds a tree whose nodes precede their children, with leaves numbered from left to right.
inline void add_random_tree(ModelRandom& random, const EnsembleShape& shape, TreeEnsemble& trees) {
  struct Open {
    std::uint32_t leaves;
    std::int32_t parent;
    bool right;
  };
  const std::uint32_t leaves =
      shape.min_leaves + static_cast<std::uint32_t>(random() % (shape.max_leaves - shape.min_leaves + 1));
  const std::uint64_t first = trees.nodes.size();
  std::int32_t next_leaf = 0, next_node = 0;
  std::vector<Open> open = {{leaves, -1, false}};
  while (!open.empty()) {
    const Open here = open.back();
    open.pop_back();
    std::int32_t child = 0;
    if (here.leaves == 1) {
      child = -(next_leaf++) - 1;
      trees.leaves.push_back(shape.special_values && random() % 200 == 0
                                 ? static_cast<double>(special_value(random))
                                 : static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
    } else {
      child = next_node++;
      TreeNode node;
      node.input = static_cast<std::uint32_t>(random() % trees.inputs.size());
      node.threshold = shape.special_values && random() % 20 == 0 ? special_value(random)
                                                                  : random_number(random, shape.distinct_thresholds);
      node.missing_left = random() % 2 == 0;
      trees.nodes.push_back(node);
      const std::uint32_t left = shape.chains ? (random() % 2 == 0 ? 1 : here.leaves - 1)
                                              : 1 + static_cast<std::uint32_t>(random() % (here.leaves - 1));
      open.push_back({here.leaves - left, child, true});
      open.push_back({left, child, false});
    }
    if (here.parent < 0) continue;
    TreeNode& parent = trees.nodes[first + static_cast<std::uint64_t>(here.parent)];
    (here.right ? parent.right : parent.left) = child;
  }
  trees.first_node.push_back(trees.nodes.size());
  trees.first_leaf.push_back(trees.leaves.size());
}

inline TreeEnsemble random_trees(ModelRandom& random, const EnsembleShape& shape) {
  TreeEnsemble trees;
  for (std::uint32_t i = 0; i < shape.features + 4; ++i) trees.inputs.push_back(random_input(random, shape.features));
  for (std::uint32_t tree = 0; tree < shape.trees; ++tree) add_random_tree(random, shape, trees);
  trees.sum = random() % 2 == 0 ? TreeSum::float64 : TreeSum::float32;
  trees.base = static_cast<double>(random() % 100) / 7.0;
  return trees;
}

inline DenseLayer random_layer(ModelRandom& random, std::uint32_t inputs, std::uint32_t outputs) {
  DenseLayer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  const auto weight = [&] { return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5); };
  for (std::uint64_t i = 0; i < std::uint64_t{inputs} * outputs; ++i) layer.weights.push_back(weight());
  for (std::uint32_t i = 0; i < outputs; ++i) layer.bias.push_back(weight());
  layer.activation = static_cast<Activation>(random() % 4);
  return layer;
}

inline void add_random_expression(ModelRandom& random, std::uint32_t features, unsigned depth,
                                  std::vector<ExpressionStep>& steps) {
  const auto code = static_cast<ExpressionCode>(random() % (static_cast<unsigned>(ExpressionCode::maximum) + 1));
  const bool is_leaf = depth == 0 || operands_of(code) == 0;
  for (unsigned i = 0; !is_leaf && i < operands_of(code); ++i)
    add_random_expression(random, features, depth - 1, steps);
  steps.push_back({is_leaf && code != ExpressionCode::number ? ExpressionCode::feature : code,
                   static_cast<std::uint32_t>(random() % features), random_number(random, 9)});
}

inline Transformation random_transformation(ModelRandom& random, std::uint32_t features) {
  Transformation made;
  made.kind = static_cast<TransformationKind>(random() % 4);
  made.feature = static_cast<std::uint32_t>(random() % features);
  made.p1 = random_number(random, 20);
  made.p2 = random_number(random, 20) + 1;
  if (made.kind == TransformationKind::free_form) {
    made.expression = {{ExpressionCode::feature, made.feature}};
    add_random_expression(random, features, 4, made.expression);
    made.expression.push_back({ExpressionCode::add});
  }
  return made;
}

inline NetworkModel random_network(ModelRandom& random, std::uint32_t features, std::uint32_t transformations,
                                   const EnsembleShape& shape, std::vector<std::uint32_t> outputs) {
  NetworkModel model;
  for (std::uint32_t i = 0; i < transformations; ++i)
    model.transformations.push_back(random_transformation(random, features));
  model.trees = random_trees(random, shape);
  std::uint32_t inputs = transformations + shape.trees;
  for (const std::uint32_t count : outputs) {
    model.layers.push_back(random_layer(random, inputs, count));
    inputs = count;
  }
  return model;
}

inline RankerModel model_of(std::uint32_t features, std::variant<TreeEnsemble, LinearModel, NetworkModel> function) {
  RankerModel model;
  model.features.resize(features);
  model.function = std::move(function);
  return model;
}

/// Documents with features between and at thresholds, some of them missing.
struct RandomDocuments {
  std::vector<float> values;
  FeatureColumns columns;

  RandomDocuments(ModelRandom& random, std::uint32_t features, std::size_t documents, std::uint32_t distinct = 50)
      : values(features * stride_of(documents)), columns{values.data(), documents, stride_of(documents)} {
    for (float& value : values) {
      const std::uint64_t kind = random() % 16;
      value = kind == 0   ? std::numeric_limits<float>::quiet_NaN()
              : kind == 1 ? special_value(random)
                          : random_number(random, distinct);
      if (kind == 2) value = std::nextafter(value, std::numeric_limits<float>::infinity());
      if (kind == 3) value = std::nextafter(value, -std::numeric_limits<float>::infinity());
    }
  }

  static std::size_t stride_of(std::size_t documents) {
    constexpr std::size_t unit = FeatureColumns::documents_per_group;
    return (documents + unit - 1) / unit * unit;
  }
};

}  // namespace quern::test
