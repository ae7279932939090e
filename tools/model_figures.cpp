#include "model_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/utf8.hpp"

namespace quern::tools {
namespace {

/// Features and layers that are listed for people; of more, only the number is shown.
constexpr std::size_t most_listed = 1000;

/// Inner nodes on the longest way of a tree. Children come after their parents.
std::uint64_t depth_of(const TreeEnsemble& trees, std::uint64_t tree, std::vector<std::uint32_t>& depths) {
  const std::uint64_t begin = trees.first_node[tree], end = trees.first_node[tree + 1];
  depths.assign(end - begin, 1);
  std::uint32_t most = 0;
  for (std::uint64_t place = 0; place < end - begin; ++place) {
    const TreeNode& node = trees.nodes[begin + place];
    for (const std::int32_t child : {node.left, node.right})
      if (child >= 0) depths[static_cast<std::size_t>(child)] = depths[place] + 1;
    most = std::max(most, depths[place]);
  }
  return most;
}

Json tree_figures(const TreeEnsemble& trees) {
  std::uint64_t greatest_depth = 0, most_leaves = 0;
  std::vector<std::uint32_t> depths;
  for (std::uint64_t tree = 0; tree < trees.trees(); ++tree) {
    greatest_depth = std::max(greatest_depth, depth_of(trees, tree, depths));
    most_leaves = std::max(most_leaves, trees.first_leaf[tree + 1] - trees.first_leaf[tree]);
  }
  return {{"trees", trees.trees()},     {"nodes", trees.nodes.size()},      {"leaves", trees.leaves.size()},
          {"most_leaves", most_leaves}, {"greatest_depth", greatest_depth}, {"tree_inputs", trees.inputs.size()}};
}

Json function_json(const TreeEnsemble& trees, bool) {
  Json json = tree_figures(trees);
  json["sum"] = trees.sum == TreeSum::float64 ? "float64" : "float32";
  json["base"] = trees.base;
  json["mean_of"] = trees.group_ends.size();
  return json;
}

Json function_json(const LinearModel& linear, bool) {
  return {{"terms", linear.terms.size()}, {"intercept", linear.intercept}};
}

Json function_json(const NetworkModel& network, bool as_lines) {
  Json json = tree_figures(network.trees);
  for (const auto& kind : transformation_names)
    json[std::string(kind.name)] = std::count_if(network.transformations.begin(), network.transformations.end(),
                                                 [&](const Transformation& each) { return each.kind == kind.value; });
  if (as_lines && network.layers.size() > most_listed) {
    json["layers"] = network.layers.size();
    return json;
  }
  Json layers = as_lines ? Json::object() : Json::array();
  for (const DenseLayer& layer : network.layers) {
    const std::string_view activation = name_of_value(activation_names, layer.activation);
    if (as_lines)
      layers[std::to_string(layers.size() + 1)] =
          fmt::format("{} inputs, {} outputs, activation {}", layer.inputs, layer.outputs, activation);
    else
      layers.push_back({{"inputs", layer.inputs}, {"outputs", layer.outputs}, {"activation", activation}});
  }
  json["layers"] = layers;
  return json;
}

Json features_json(const std::vector<ModelFeature>& features, bool as_lines) {
  if (as_lines && features.size() > most_listed) return features.size();
  Json json = as_lines ? Json::object() : Json::array();
  for (const ModelFeature& feature : features) {
    std::string name;
    repair_utf8(feature.name, name);
    const Json number = feature.number == ModelFeature::no_number ? Json() : Json(feature.number);
    if (as_lines)
      json[name] = number.is_null() ? Json("no number") : Json(fmt::format("number {}", feature.number));
    else
      json.push_back({{"name", name}, {"number", number}});
  }
  return json;
}

}  // namespace

bool is_model_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  Bytes head(model_detection_bytes);
  head.resize(read_fully(*ByteSource::open(path), head));
  return find_model_format(as_text(head)) != nullptr;
}

Json model_json(const RankerModel& model, bool as_lines) {
  constexpr std::string_view functions[] = {"trees", "linear", "network"};
  Json json = {{"kind", "model"}, {"format", model.format}, {"function", functions[model.function.index()]}};
  json.update(std::visit([&](const auto& function) { return function_json(function, as_lines); }, model.function));
  json["features"] = features_json(model.features, as_lines);
  return json;
}

}  // namespace quern::tools
