#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"

/// Scores exactly as defined in ranker_model.hpp, to compare model readers with the training programs' predictions.
namespace quern::testing {

/// Values of one document, by the model's feature number or by index.
using FeatureRow = std::vector<float>;

constexpr float missing_value = std::numeric_limits<float>::quiet_NaN();

/// The value that a tree compares; NaN if missing.
inline float tree_input(const TreeInput& input, float x) {
  switch (input.kind) {
    case TreeInputKind::value:
      return x;
    case TreeInputKind::zero_missing:
      return std::isnan(x) || std::abs(x) <= 1e-35f ? missing_value : x;
    case TreeInputKind::nan_is_zero:
      return std::isnan(x) ? 0 : x;
    default:
      break;
  }
  if (std::isnan(x)) return x;
  const bool is_value = input.kind == TreeInputKind::in_values;
  for (const std::uint32_t category : input.categories)
    if (is_value ? x == std::bit_cast<float>(category) : std::trunc(static_cast<double>(x)) == category) return 0;
  return 1;
}

/// The leaf, among all leaves of the ensemble, that a document reaches in a tree.
inline std::uint64_t leaf_of(const TreeEnsemble& trees, std::uint64_t tree, const FeatureRow& row) {
  if (trees.first_node[tree] == trees.first_node[tree + 1]) return trees.first_leaf[tree];
  std::int64_t at = 0;
  while (at >= 0) {
    const TreeNode& node = trees.nodes[trees.first_node[tree] + static_cast<std::uint64_t>(at)];
    const TreeInput& input = trees.inputs[node.input];
    const float value = tree_input(input, row[input.feature]);
    at = (std::isnan(value) ? node.missing_left : value <= node.threshold) ? node.left : node.right;
  }
  return trees.first_leaf[tree] + static_cast<std::uint64_t>(-at - 1);
}

inline double sum_of_trees(const TreeEnsemble& trees, std::uint64_t begin, std::uint64_t end, const FeatureRow& row) {
  double sum = trees.base;
  for (std::uint64_t tree = begin; tree < end; ++tree) {
    sum += trees.leaves[leaf_of(trees, tree, row)];
    if (trees.sum == TreeSum::float32) sum = static_cast<float>(sum);
  }
  return sum;
}

inline double plain_score(const TreeEnsemble& trees, const FeatureRow& row) {
  if (trees.group_ends.empty()) return sum_of_trees(trees, 0, trees.trees(), row);
  double sum = 0;
  std::uint64_t begin = 0;
  for (const std::uint64_t end : trees.group_ends) {
    sum += sum_of_trees(trees, begin, end, row);
    begin = end;
  }
  return sum / static_cast<double>(trees.group_ends.size());
}

inline double plain_score(const LinearModel& linear, const FeatureRow& row) {
  double sum = linear.intercept;
  for (const LinearModel::Term& term : linear.terms)
    sum += term.weight * (std::isnan(row[term.feature]) ? 0 : row[term.feature]);
  return sum;
}

inline float transformed(const Transformation& made, float x) {
  if (made.kind == TransformationKind::linear) return x * made.p1 + made.p2;
  if (made.kind == TransformationKind::log_linear)
    return std::log(std::max(x, std::nextafter(-1.0f, 0.0f)) + 1) * made.p1 + made.p2;
  if (made.kind == TransformationKind::bucket) return made.p1 <= x && x < made.p2 ? 1 : 0;
  std::abort();  // not used by tests
}

inline double plain_score(const NetworkModel& network, const FeatureRow& row) {
  std::vector<float> values;
  for (const Transformation& made : network.transformations) values.push_back(transformed(made, row[made.feature]));
  for (std::uint64_t tree = 0; tree < network.trees.trees(); ++tree)
    values.push_back(static_cast<float>(network.trees.leaves[leaf_of(network.trees, tree, row)]));
  for (const DenseLayer& layer : network.layers) {
    std::vector<float> outputs = layer.bias;
    for (std::uint32_t j = 0; j < layer.outputs; ++j) {
      for (std::uint32_t i = 0; i < layer.inputs; ++i) outputs[j] += values[i] * layer.weights[j * layer.inputs + i];
      if (layer.activation == Activation::relu) outputs[j] = std::max(outputs[j], 0.0f);
      if (layer.activation == Activation::sigmoid) outputs[j] = 1 / (1 + std::exp(-outputs[j]));
      if (layer.activation == Activation::tanh) outputs[j] = std::tanh(outputs[j]);
    }
    values = outputs;
  }
  return values.at(0);
}

/// Scores values indexed as in RankerModel::features.
inline double plain_score(const RankerModel& model, const FeatureRow& row) {
  return std::visit([&](const auto& function) { return plain_score(function, row); }, model.function);
}

/// The values of a model's features in `columns`, by number; features without a number take the column at their name's
/// index in `names`.
inline FeatureRow row_for(const RankerModel& model, const FeatureRow& columns,
                          const std::vector<std::string>& names = {}) {
  FeatureRow row;
  for (const ModelFeature& feature : model.features) {
    std::uint32_t number = feature.number;
    for (std::uint32_t i = 0; i < names.size(); ++i)
      if (names[i] == feature.name) number = i;
    row.push_back(number < columns.size() ? columns[number] : missing_value);
  }
  return row;
}

inline std::string ranker_data(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/rankers/data/" + name;
}

/// Reads rows of numbers, including "nan" and "inf".
inline std::vector<std::vector<double>> number_rows(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(std::strtod(word.c_str(), nullptr));
  }
  return rows;
}

/// The test rows of the models in data/: ten columns, numbered from 0.
inline std::vector<FeatureRow> model_inputs() {
  std::vector<FeatureRow> rows;
  for (const std::vector<double>& row : number_rows(ranker_data("inputs.tsv")))
    rows.emplace_back(row.begin(), row.end());
  return rows;
}

}  // namespace quern::testing
