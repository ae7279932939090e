#include "quern/rank/models/ranker.hpp"

#include <fmt/format.h>

#include "quern/rank/models/transformation.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

namespace quern {
namespace {

/// Evaluates a linear model by blocks of documents; each document's sum keeps the model's order.
class LinearEvaluator {
 public:
  LinearEvaluator(const LinearModel& model, SimdLevel) : model_(model) {}

  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const {
    std::array<double, documents_per_block> sums;
    for (std::size_t first = 0; first < features.documents; first += sums.size()) {
      const std::size_t documents = std::min(sums.size(), features.documents - first);
      sums.fill(model_.intercept);
      for (const LinearModel::Term& term : model_.terms) {
        const float* const values = features.column(term.feature) + first;
        for (std::size_t d = 0; d < documents; ++d) sums[d] += term.weight * linear_input(values[d]);
      }
      for (std::size_t d = 0; d < documents; ++d) scores[first + d] = settled(sums[d]);
    }
    clock.end(&RankerStages::layers);
  }

 private:
  LinearModel model_;
};

template <class Evaluator>
class FastRanker : public Ranker {
 public:
  template <class Function>
  FastRanker(const Function& function, SimdLevel level) : evaluator_(function, level) {}

  void score(const FeatureColumns& features, std::span<double> scores) const override {
    StageClock none(nullptr);
    evaluator_.score(features, scores, none);
  }

  void score(const FeatureColumns& features, std::span<double> scores, RankerStages& stages) const override {
    StageClock clock(&stages);
    evaluator_.score(features, scores, clock);
  }

 private:
  Evaluator evaluator_;
};

std::unique_ptr<Ranker> fast_ranker(const TreeEnsemble& trees) {
  return std::make_unique<FastRanker<TreeEvaluator>>(trees, simd_level());
}
std::unique_ptr<Ranker> fast_ranker(const LinearModel& model) {
  return std::make_unique<FastRanker<LinearEvaluator>>(model, simd_level());
}
std::unique_ptr<Ranker> fast_ranker(const NetworkModel& model) {
  return std::make_unique<FastRanker<NetworkEvaluator>>(model, simd_level());
}

void check_feature(std::uint32_t feature, std::size_t features, const char* what, std::size_t place) {
  if (feature >= features)
    throw InvalidArgument("{} {} of the ranker reads feature {}, but there are only {}", what, place, feature,
                          features);
}

[[noreturn]] void throw_bad_tree(std::uint64_t tree, const std::string& what) {
  throw InvalidArgument("tree {} of the ranker {}; train or export the model again", tree, what);
}

/// Checks one tree after another.
class TreeCheck {
 public:
  explicit TreeCheck(const TreeEnsemble& trees) : trees_(trees) {}

  void check_arrays(std::size_t features) const {
    for (std::size_t i = 0; i < trees_.inputs.size(); ++i) {
      check_feature(trees_.inputs[i].feature, features, "input", i);
      if (!std::is_sorted(trees_.inputs[i].categories.begin(), trees_.inputs[i].categories.end()))
        throw InvalidArgument("the categories of input {} of the ranker are not in ascending order", i);
    }
    check_bounds(trees_.first_node, trees_.nodes.size(), "nodes");
    check_bounds(trees_.first_leaf, trees_.leaves.size(), "leaves");
    if (trees_.first_leaf.size() != trees_.first_node.size())
      throw InvalidArgument("the ranker has nodes and leaves for different numbers of trees");
    if (!trees_.group_ends.empty()) check_groups();
  }

  void check_tree(std::uint64_t tree) {
    const std::uint64_t first = trees_.first_node[tree], count = trees_.first_node[tree + 1] - first;
    const std::uint64_t leaves = trees_.first_leaf[tree + 1] - trees_.first_leaf[tree];
    if (leaves != count + 1) throw_bad_tree(tree, fmt::format("has {} nodes, but {} leaves", count, leaves));
    if (count >= std::uint64_t{1} << 31) throw_bad_tree(tree, "has more than 2^31 - 1 nodes");
    parents_.assign(count, 0);
    leaf_parents_.assign(leaves, 0);
    for (std::uint64_t i = 0; i < count; ++i) check_node(tree, i, trees_.nodes[first + i]);
    // Each child now has at most one parent; with one leaf more than nodes, all but the root have exactly one.
  }

 private:
  static void check_bounds(const std::vector<std::uint64_t>& bounds, std::size_t size, const char* what) {
    if (bounds.empty() || bounds.front() != 0 || bounds.back() != size || !std::is_sorted(bounds.begin(), bounds.end()))
      throw InvalidArgument("the ranker's trees don't cover its {} {}", size, what);
  }

  void check_groups() const {
    if (!std::is_sorted(trees_.group_ends.begin(), trees_.group_ends.end()) ||
        trees_.group_ends.back() != trees_.trees())
      throw InvalidArgument("the ranker's groups don't cover its {} trees", trees_.trees());
  }

  void check_node(std::uint64_t tree, std::uint64_t i, const TreeNode& node) {
    if (node.input >= trees_.inputs.size())
      throw_bad_tree(
          tree, fmt::format("reads input {} in node {}, but there are only {}", node.input, i, trees_.inputs.size()));
    if (node.threshold != node.threshold) throw_bad_tree(tree, fmt::format("has a NaN threshold in node {}", i));
    check_child(tree, i, node.left);
    check_child(tree, i, node.right);
  }

  void check_child(std::uint64_t tree, std::uint64_t i, std::int32_t child) {
    const auto place = static_cast<std::uint64_t>(child < 0 ? -(child + 1) : child);
    std::vector<std::uint8_t>& parents = child < 0 ? leaf_parents_ : parents_;
    if (place >= parents.size() || (child >= 0 && place <= i))
      throw_bad_tree(tree, fmt::format("has the child {} in node {}", child, i));
    if (++parents[place] > 1) throw_bad_tree(tree, fmt::format("has the child {} twice", child));
  }

  const TreeEnsemble& trees_;
  std::vector<std::uint8_t> parents_, leaf_parents_;  ///< of the current tree: parents found so far
};

void check_function(const TreeEnsemble& trees, std::size_t features) {
  TreeCheck check(trees);
  check.check_arrays(features);
  for (std::uint64_t tree = 0; tree < trees.trees(); ++tree) check.check_tree(tree);
}

void check_function(const LinearModel& model, std::size_t features) {
  for (std::size_t i = 0; i < model.terms.size(); ++i) check_feature(model.terms[i].feature, features, "term", i);
}

void check_layers(std::span<const DenseLayer> layers, std::uint64_t inputs) {
  if (layers.empty()) throw InvalidArgument("the ranker's network has no layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const DenseLayer& layer = layers[i];
    if (std::max<std::uint64_t>(inputs, layer.outputs) > max_layer_size)
      throw InvalidArgument("layer {} of the ranker has {} inputs and {} outputs; the limit is {}", i, inputs,
                            layer.outputs, max_layer_size);
    if (layer.inputs != inputs)
      throw InvalidArgument("layer {} of the ranker expects {} inputs, but there are {}", i, layer.inputs, inputs);
    if (layer.weights.size() != std::uint64_t{layer.inputs} * layer.outputs || layer.bias.size() != layer.outputs)
      throw InvalidArgument("layer {} of the ranker has {} weights and {} biases for {} inputs and {} outputs", i,
                            layer.weights.size(), layer.bias.size(), layer.inputs, layer.outputs);
    inputs = layer.outputs;
  }
  if (inputs != 1) throw InvalidArgument("the ranker's last layer has {} outputs instead of one", inputs);
}

void check_function(const NetworkModel& model, std::size_t features) {
  for (std::size_t i = 0; i < model.transformations.size(); ++i) {
    const Transformation& transformation = model.transformations[i];
    check_feature(transformation.feature, features, "transformation", i);
    for (const ExpressionStep& step : transformation.expression)
      check_feature(step.feature, features, "transformation", i);
    if (transformation.kind == TransformationKind::free_form && !is_valid(transformation.expression))
      throw InvalidArgument("transformation {} of the ranker has an invalid expression", i);
  }
  check_function(model.trees, features);
  check_layers(model.layers, model.transformations.size() + model.trees.trees());
}

}  // namespace

void Ranker::score(const FeatureColumns& features, std::span<double> scores, RankerStages&) const {
  score(features, scores);
}

std::unique_ptr<Ranker> make_ranker(const RankerModel& model) {
  check_model(model);
  return std::visit([](const auto& function) { return fast_ranker(function); }, model.function);
}

void check_model(const RankerModel& model) {
  std::visit([&](const auto& function) { check_function(function, model.features.size()); }, model.function);
}

}  // namespace quern
