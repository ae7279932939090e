#include "quern/formats/rankers/tree_collector.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "quern/formats/rankers/json_events.hpp"

namespace quern {
namespace {

constexpr std::size_t no_parent = std::numeric_limits<std::size_t>::max();
constexpr std::size_t max_in_tree = std::numeric_limits<std::int32_t>::max();
/// Limit of the categories of all splits of a file, which may name the same ones again and again.
constexpr std::uint64_t max_categories = std::uint64_t{1} << 28;

}  // namespace

ModelFeature named_feature(std::string_view name) {
  ModelFeature feature;
  feature.name = name;
  for (const std::string_view prefix : {"Column_", "f", ""}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    const std::string_view digits = name.substr(prefix.size());
    std::uint32_t number = 0;
    const bool is_plain = !digits.empty() && is_ascii_digit(digits[0]) && (digits.size() == 1 || digits[0] != '0');
    if (is_plain && read_number(digits, number)) feature.number = number;
    break;
  }
  return feature;
}

std::uint32_t FeatureCollector::add(ModelFeature feature, std::uint64_t order) {
  features_.push_back(std::move(feature));
  order_.push_back(order);
  return static_cast<std::uint32_t>(features_.size() - 1);
}

std::uint32_t FeatureCollector::by_index(std::uint64_t index, const std::vector<std::string>& names,
                                         std::string_view prefix) {
  const auto found = indexes_.find(index);
  if (found != indexes_.end()) return found->second;
  const std::string name = names.empty() ? fmt::format("{}{}", prefix, index) : names.at(index);
  return indexes_[index] = add(named_feature(name), index);
}

std::uint32_t FeatureCollector::by_name(std::string_view name) {
  std::string key(name);
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  const ModelFeature feature = named_feature(name);
  return names_[std::move(key)] = add(feature, feature.number);
}

bool FeatureCollector::rename(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (order_[i] >= names.size()) return false;
    features_[i] = named_feature(names[order_[i]]);
  }
  return true;
}

std::vector<std::uint32_t> FeatureCollector::sort() {
  std::vector<std::uint32_t> sorted(features_.size()), places(features_.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return order_[a] < order_[b]; });
  std::vector<ModelFeature> features(features_.size());
  for (std::uint32_t place = 0; place < sorted.size(); ++place) {
    features[place] = std::move(features_[sorted[place]]);
    places[sorted[place]] = place;
  }
  features_ = std::move(features);
  return places;
}

void ColumnCategories::add_text(std::string_view value) {
  add(0);
  obstacle = fmt::format("its category '{:.40}' is not a number; train with values of features as categories", value);
}

void ColumnCategories::check_distinct() {
  if (!obstacle.empty()) return;
  std::vector<std::uint32_t> keys;
  for (const float value : values) keys.push_back(value_key(value));
  std::sort(keys.begin(), keys.end());
  const auto repeated = std::adjacent_find(keys.begin(), keys.end());
  if (repeated != keys.end())
    obstacle = fmt::format("two of its categories are equal in float32, {}; train with categories that differ there",
                           std::bit_cast<float>(*repeated));
}

std::uint32_t TreeCollector::input(std::uint32_t feature, TreeInputKind kind) {
  const std::uint64_t key = std::uint64_t{feature} * 256 + static_cast<std::uint8_t>(kind);
  const auto [place, is_new] = value_inputs_.try_emplace(key, static_cast<std::uint32_t>(trees_.inputs.size()));
  if (is_new) trees_.inputs.push_back({feature, kind, {}});
  return place->second;
}

std::uint32_t TreeCollector::categories_input(std::uint32_t feature, std::vector<std::uint32_t> categories,
                                              TreeInputKind kind) {
  std::sort(categories.begin(), categories.end());
  categories.erase(std::unique(categories.begin(), categories.end()), categories.end());
  const auto [place, is_new] = category_inputs_.try_emplace({feature, kind, std::move(categories)},
                                                            static_cast<std::uint32_t>(trees_.inputs.size()));
  if (is_new) trees_.inputs.push_back({feature, kind, std::get<2>(place->first)});
  return place->second;
}

void TreeCollector::count_categories(std::uint64_t some) {
  categories_ += some;
  if (categories_ > max_categories) fail("the splits so far have a total of more than 268,435,456 categories");
}

void TreeCollector::split_by_values(LooseTree::Node& node, std::uint32_t feature, const ColumnCategories& column,
                                    const std::vector<bool>& left, bool missing_left) {
  if (!column.obstacle.empty())
    throw InvalidArgument("{}: tree {} splits a data frame's column of categories, '{}', but {}", name_, trees_.trees(),
                          features_.name(feature), column.obstacle);
  std::vector<std::uint32_t> categories;
  for (std::size_t code = 0; code < left.size(); ++code)
    if (left[code] != missing_left) categories.push_back(value_key(column.values[code]));
  count_categories(categories.size());
  node.input = categories_input(feature, std::move(categories), TreeInputKind::in_values);
  node.threshold = 0;
  node.missing_left = false;
  // The categories go left, and all other values right.
  if (missing_left) std::swap(node.left, node.right);
}

std::size_t TreeCollector::add(const LooseTree& tree, std::size_t root) {
  met_.assign(tree.nodes.size(), false);
  const std::uint64_t first_node = trees_.first_node.back(), first_leaf = trees_.first_leaf.back();
  waiting_.assign(1, {child_number(tree, static_cast<std::int64_t>(root), no_parent), no_parent, false});
  while (!waiting_.empty()) {
    const Waiting next = waiting_.back();
    waiting_.pop_back();
    if (met_[next.node]) fail(fmt::format("node {} is reached in two ways", next.node));
    met_[next.node] = true;
    std::int32_t* place = nullptr;
    if (next.parent != no_parent) {
      TreeNode& parent = trees_.nodes[first_node + next.parent];
      place = next.is_left ? &parent.left : &parent.right;
    }
    const LooseTree::Node& node = tree.nodes[next.node];
    if (node.left == -1 && node.right == -1)
      add_leaf(node, next.node, place);
    else
      add_inner(tree, next.node, place);
  }
  trees_.first_node.push_back(trees_.nodes.size());
  trees_.first_leaf.push_back(trees_.leaves.size());
  return (trees_.nodes.size() - first_node) + (trees_.leaves.size() - first_leaf);
}

void TreeCollector::add_leaf(const LooseTree::Node& node, std::size_t number, std::int32_t* parent) {
  if (!std::isfinite(node.leaf)) fail(fmt::format("the value of leaf {} is not a finite number", number));
  const std::size_t leaf = trees_.leaves.size() - trees_.first_leaf.back();
  if (leaf >= max_in_tree) fail("has more than 2,147,483,647 leaves");
  if (parent) *parent = -static_cast<std::int32_t>(leaf) - 1;
  trees_.leaves.push_back(node.leaf);
}

void TreeCollector::add_inner(const LooseTree& tree, std::size_t number, std::int32_t* parent) {
  const LooseTree::Node& node = tree.nodes[number];
  if (std::isnan(node.threshold)) fail(fmt::format("the threshold of node {} is not a number", number));
  const std::size_t place = trees_.nodes.size() - trees_.first_node.back();
  if (place >= max_in_tree) fail("has more than 2,147,483,647 nodes");
  if (parent) *parent = static_cast<std::int32_t>(place);
  const std::size_t left = child_number(tree, node.left, number), right = child_number(tree, node.right, number);
  trees_.nodes.push_back({node.threshold, node.input, -1, -1, node.missing_left});
  // A stack: push right before left, so that leaves are visited from left to right.
  waiting_.push_back({right, place, false});
  waiting_.push_back({left, place, true});
}

std::size_t TreeCollector::child_number(const LooseTree& tree, std::int64_t child, std::size_t parent) const {
  if (child >= 0 && static_cast<std::uint64_t>(child) < tree.nodes.size()) return static_cast<std::size_t>(child);
  if (parent == no_parent) fail("has no nodes");
  fail(fmt::format("node {} has the child {}, which does not exist", parent, child));
}

void TreeCollector::sort_inputs() {
  std::vector<std::uint32_t> sorted(trees_.inputs.size()), input_places(trees_.inputs.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto key = [&](std::uint32_t place) {
    const TreeInput& input = trees_.inputs[place];
    return std::tie(input.feature, input.kind, input.categories);
  };
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<TreeInput> inputs(sorted.size());
  for (std::uint32_t place = 0; place < sorted.size(); ++place) {
    inputs[place] = std::move(trees_.inputs[sorted[place]]);
    input_places[sorted[place]] = place;
  }
  trees_.inputs = std::move(inputs);
  for (TreeNode& node : trees_.nodes) node.input = input_places[node.input];
}

RankerModel TreeCollector::finish(std::string_view format, std::uint64_t columns) {
  const std::vector<std::uint32_t> places = features_.sort();
  for (TreeInput& input : trees_.inputs) input.feature = places[input.feature];
  sort_inputs();
  RankerModel model;
  model.format = format;
  model.columns = columns;
  model.features = features_.take();
  model.function = std::move(trees_);
  return model;
}

void TreeCollector::fail(std::string_view why) const {
  throw CorruptFile("{}: tree {}: {}", name_, trees_.trees(), why);
}

}  // namespace quern
