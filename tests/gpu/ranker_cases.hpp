#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/rank/models/ranker.hpp"

#include "rank/models/random_models.hpp"

/// Models of all kinds, whose scores from a real or emulated GPU are compared with plain evaluation.
namespace quern::test {

struct RankerCase {
  std::string name;
  RankerModel model;
  std::uint32_t distinct = 50;  ///< distinct values of a feature
};

/// The bits of scores.
inline std::vector<std::uint64_t> score_bits(std::span<const double> scores) {
  std::vector<std::uint64_t> bits;
  for (const double score : scores) bits.push_back(std::bit_cast<std::uint64_t>(score));
  return bits;
}
inline std::vector<std::uint64_t> plain_bits(const RankerModel& model, const FeatureColumns& features) {
  std::vector<double> scores(features.documents);
  make_plain_ranker(model)->score(features, scores);
  return score_bits(scores);
}

inline RankerCase tree_case(ModelRandom& random, std::string name, const EnsembleShape& shape) {
  return {std::move(name), model_of(shape.features, random_trees(random, shape)), shape.distinct_thresholds};
}

inline RankerCase network_case(ModelRandom& random, std::string name, const EnsembleShape& shape,
                               std::uint32_t transformations, std::vector<std::uint32_t> outputs) {
  return {std::move(name),
          model_of(shape.features, random_network(random, shape.features, transformations, shape, std::move(outputs))),
          shape.distinct_thresholds};
}

inline RankerCase linear_case(ModelRandom& random, std::uint32_t terms) {
  LinearModel model;
  model.intercept = 0.3;
  for (std::uint32_t i = 0; i < terms; ++i)
    model.terms.push_back({static_cast<std::uint32_t>(random() % 9), static_cast<double>(random() % 1000) / 7 - 60});
  return {std::to_string(terms) + " terms", model_of(9, model)};
}

inline constexpr unsigned expression_codes = static_cast<unsigned>(ExpressionCode::maximum) + 1;

/// Each transformation and operation, applied to difficult values.
inline RankerCase functions_case(ModelRandom& random) {
  NetworkModel model;
  for (unsigned code = 0; code < expression_codes; ++code)
    for (unsigned i = 0; i < 4; ++i) {
      std::vector<ExpressionStep> expression;
      for (unsigned operand = 0; operand < operands_of(static_cast<ExpressionCode>(code)); ++operand)
        expression.push_back({ExpressionCode::feature, (i + operand) % 4});
      expression.push_back({static_cast<ExpressionCode>(code), i, random_number(random, 9)});
      model.transformations.push_back({TransformationKind::free_form, i, 1, 0, expression});
    }
  for (const TransformationKind kind :
       {TransformationKind::linear, TransformationKind::log_linear, TransformationKind::bucket})
    for (unsigned i = 0; i < 4; ++i)
      model.transformations.push_back({kind, i, random_number(random, 9), random_number(random, 9) + 1});
  model.layers.push_back(random_layer(random, static_cast<std::uint32_t>(model.transformations.size()), 1));
  // Few inputs have weights, otherwise all sums would be NaN.
  for (float& weight : model.layers[0].weights) weight = 0;
  return {"all functions", model_of(4, model)};
}

/// A neuron for each input of a model, so that each input's value reaches a score.
inline RankerCase one_function_case(ModelRandom& random, std::size_t input) {
  RankerCase made = functions_case(random);
  auto& model = std::get<NetworkModel>(made.model.function);
  model.transformations = {model.transformations[input % model.transformations.size()]};
  model.layers = {random_layer(random, 1, 1)};
  model.layers[0].activation = static_cast<Activation>(input % 4);
  made.name = "function " + std::to_string(input);
  return made;
}

/// Models that are fast on an emulated GPU.
inline std::vector<RankerCase> small_ranker_cases(ModelRandom& random) {
  std::vector<RankerCase> cases;
  EnsembleShape shape;
  cases.push_back(tree_case(random, "trees of up to 64 leaves", shape));
  shape.trees = 150;
  cases.push_back(tree_case(random, "several groups of trees", shape));
  cases.push_back(network_case(random, "several groups of trees in a network", shape, 3, {1}));
  shape.trees = 9;
  shape.max_leaves = 1;
  cases.push_back(tree_case(random, "trees that are leaves", shape));
  cases.push_back(network_case(random, "leaves in a network", shape, 0, {3, 1}));
  shape.min_leaves = shape.max_leaves = 2048;
  shape.trees = 3;
  shape.distinct_thresholds = 5000;
  cases.push_back(tree_case(random, "the largest trees with steps", shape));
  cases.push_back(network_case(random, "the largest trees with steps in a network", shape, 2, {1}));
  shape.chains = true;
  cases.push_back(tree_case(random, "chains", shape));
  shape.chains = false;
  shape.min_leaves = 1;
  shape.max_leaves = 3500;
  cases.push_back(tree_case(random, "trees that are too large, and others", shape));
  cases.push_back(network_case(random, "too large trees in a network", shape, 5, {7, 1}));
  shape = {};
  shape.features = 700;
  shape.trees = 60;
  cases.push_back(tree_case(random, "ranks in global memory", shape));
  cases.push_back(network_case(random, "ranks in global memory, in a network", shape, 1, {1}));
  shape.features = 3000;
  shape.trees = 70;
  shape.min_leaves = 60;
  cases.push_back(tree_case(random, "too many columns", shape));
  shape = {};
  shape.trees = 40;
  RankerCase groups = tree_case(random, "groups", shape);
  auto& bags = std::get<TreeEnsemble>(groups.model.function);
  bags.group_ends = {0, 7, 7, 30, 40, 40};
  cases.push_back(groups);
  bags.sum = bags.sum == TreeSum::float32 ? TreeSum::float64 : TreeSum::float32;
  cases.push_back(groups);
  bags.sum = TreeSum::float32;
  bags.group_ends = {40};
  cases.push_back(groups);
  shape.trees = 0;
  cases.push_back(tree_case(random, "no trees", shape));
  cases.push_back(network_case(random, "transformations alone", shape, 37, {1}));
  for (const std::uint32_t terms : {0u, 1u, 40u}) cases.push_back(linear_case(random, terms));
  shape.trees = 5;
  for (const std::uint32_t hidden : {1u, 3u, 4u, 5u, 31u, 32u, 33u, 64u, 65u, 130u})
    cases.push_back(network_case(random, std::to_string(hidden) + " neurons", shape, 31, {hidden, 1}));
  cases.push_back(network_case(random, "four layers", shape, 61, {70, 34, 9, 1}));
  cases.push_back(network_case(random, "a layer without neurons", shape, 4, {0, 1}));
  for (std::size_t input = 0; input < 4 * (expression_codes + 3); ++input)
    cases.push_back(one_function_case(random, input));
  cases.push_back(functions_case(random));
  return cases;
}

}  // namespace quern::test
