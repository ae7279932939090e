#include "quern/formats/rankers/ranker_model.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quern {
namespace {

class ModelCheck {
 public:
  ModelCheck(const RankerModel& model, const std::string& name) : model_(model), name_(name) {}

  void run() {
    if (const auto* trees = std::get_if<TreeEnsemble>(&model_.function)) {
      check_trees(*trees);
      if (trees->trees() == 0) fail("has no trees");
    } else if (const auto* linear = std::get_if<LinearModel>(&model_.function)) {
      check_linear(*linear);
    } else {
      check_network(std::get<NetworkModel>(model_.function));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: {}", name_, why); }
  [[noreturn]] void fail_in_tree(std::uint64_t tree, std::string_view why) const {
    fail(fmt::format("tree {}: {}", tree, why));
  }

  void check_feature(std::uint32_t feature) const {
    if (feature >= model_.features.size())
      fail(fmt::format("uses feature {}, but there are only {} features", feature, model_.features.size()));
  }

  void check_inputs(const TreeEnsemble& trees) const {
    for (const TreeInput& input : trees.inputs) {
      check_feature(input.feature);
      const std::vector<std::uint32_t>& categories = input.categories;
      if (input.kind < TreeInputKind::in_categories && !categories.empty())
        fail("has categories for an input of another kind");
      if (std::adjacent_find(categories.begin(), categories.end(), std::greater_equal<>()) != categories.end())
        fail("the categories of an input do not ascend");
    }
  }

  void check_trees(const TreeEnsemble& trees) {
    check_inputs(trees);
    const std::uint64_t count = trees.trees();
    if (trees.first_leaf.size() != count + 1 || trees.first_node.front() != 0 || trees.first_leaf.front() != 0 ||
        trees.first_node.back() != trees.nodes.size() || trees.first_leaf.back() != trees.leaves.size())
      fail("has nodes or leaves outside of its trees");
    for (std::uint64_t tree = 0; tree < count; ++tree) check_tree(trees, tree);
    for (const double leaf : trees.leaves)
      if (!std::isfinite(leaf)) fail("the value of a leaf is not a finite number");
    if (!std::isfinite(trees.base)) fail("its base score is not a finite number");
    const std::vector<std::uint64_t>& ends = trees.group_ends;
    if (ends.empty()) return;
    if (ends.back() != count || std::adjacent_find(ends.begin(), ends.end(), std::greater<>()) != ends.end())
      fail("its groups of trees do not cover all trees in order");
  }

  /// Walks through a tree from left to right.
  void check_tree(const TreeEnsemble& trees, std::uint64_t tree) {
    const std::uint64_t begin = trees.first_node[tree], first_leaf = trees.first_leaf[tree];
    if (begin > trees.first_node[tree + 1] || first_leaf > trees.first_leaf[tree + 1])
      fail_in_tree(tree, "ends before it begins");
    const std::uint64_t nodes = trees.first_node[tree + 1] - begin, leaves = trees.first_leaf[tree + 1] - first_leaf;
    if (leaves != nodes + 1) fail_in_tree(tree, fmt::format("{} nodes and {} leaves", nodes, leaves));
    if (nodes == 0) return;
    met_.assign(nodes, false);
    waiting_.assign(1, 0);
    met_[0] = true;
    std::uint64_t next_leaf = 0;
    while (!waiting_.empty()) {
      const std::int64_t at = waiting_.back();
      waiting_.pop_back();
      if (at < 0) {
        if (static_cast<std::uint64_t>(-at - 1) != next_leaf++) fail_in_tree(tree, "its leaves are out of order");
        continue;
      }
      const TreeNode& node = trees.nodes[begin + static_cast<std::uint64_t>(at)];
      if (std::isnan(node.threshold)) fail_in_tree(tree, fmt::format("the threshold of node {} is not a number", at));
      if (node.input >= trees.inputs.size())
        fail_in_tree(tree, fmt::format("node {} has an input that does not exist", at));
      for (const std::int32_t child : {node.right, node.left}) {
        if (child >= 0) check_child(tree, at, child);
        waiting_.push_back(child);
      }
    }
    if (next_leaf != leaves) fail_in_tree(tree, "its root does not reach all of its leaves");
  }

  void check_child(std::uint64_t tree, std::int64_t parent, std::int32_t child) {
    const auto place = static_cast<std::size_t>(child);
    if (place >= met_.size() || child <= parent || met_[place])
      fail_in_tree(
          tree, fmt::format("node {} has the child {}, which does not follow it or has another parent", parent, child));
    met_[place] = true;
  }

  void check_linear(const LinearModel& linear) const {
    if (!std::isfinite(linear.intercept)) fail("its constant is not a finite number");
    for (const LinearModel::Term& term : linear.terms) {
      check_feature(term.feature);
      if (!std::isfinite(term.weight)) fail("a weight is not a finite number");
    }
  }

  void check_network(const NetworkModel& network) {
    check_trees(network.trees);
    for (const double leaf : network.trees.leaves)
      if (std::abs(leaf) > std::numeric_limits<float>::max()) fail("a leaf is not finite in float32");
    for (const Transformation& made : network.transformations) {
      check_feature(made.feature);
      for (const ExpressionStep& step : made.expression) check_feature(step.feature);
      if (made.kind == TransformationKind::free_form && !is_valid(made.expression)) fail("an expression is not valid");
      const bool is_bucket = made.kind == TransformationKind::bucket;
      for (const float parameter : {made.p1, made.p2})
        if (std::isnan(parameter) || (!is_bucket && !std::isfinite(parameter)))
          fail("a parameter of an input is not finite");
    }
    std::uint64_t inputs = network.transformations.size() + network.trees.trees();
    if (inputs == 0 || network.layers.empty()) fail("has no inputs, or no layers");
    if (inputs > max_layer_size) fail(fmt::format("has {} inputs; the limit is {}", inputs, max_layer_size));
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      check_layer(network.layers[i], inputs, i + 1);
      inputs = network.layers[i].outputs;
    }
    if (inputs != 1) fail(fmt::format("its last layer has {} outputs; it must have one", inputs));
  }

  void check_layer(const DenseLayer& layer, std::uint64_t inputs, std::size_t number) const {
    if (layer.inputs != inputs || layer.outputs == 0 || layer.bias.size() != layer.outputs ||
        layer.weights.size() != std::uint64_t{layer.inputs} * layer.outputs)
      fail(fmt::format("layer {}: its dimensions do not match {} inputs", number, inputs));
    if (layer.outputs > max_layer_size)
      fail(fmt::format("layer {}: has {} outputs; the limit is {}", number, layer.outputs, max_layer_size));
    for (const auto* numbers : {&layer.weights, &layer.bias})
      for (const float value : *numbers)
        if (!std::isfinite(value)) fail(fmt::format("layer {}: a weight is not a finite number", number));
  }

  const RankerModel& model_;
  const std::string& name_;
  std::vector<bool> met_;              ///< by node of the current tree
  std::vector<std::int64_t> waiting_;  ///< children still to be visited
};

}  // namespace

bool is_valid(std::span<const ExpressionStep> expression) {
  unsigned values = 0;
  for (const ExpressionStep& step : expression) {
    if (step.code > ExpressionCode::maximum || std::isnan(step.number) || values < operands_of(step.code)) return false;
    values += 1 - operands_of(step.code);
    if (values > max_expression_values) return false;
  }
  return values == 1 && expression.size() <= max_expression_steps;
}

void check_model(const RankerModel& model, const std::string& name) { ModelCheck(model, name).run(); }

}  // namespace quern
