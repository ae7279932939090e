#include "commands/inspect_contents.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "quern/formats/rankers/model_format.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/utf8.hpp"

namespace quern::tools {
namespace {

/// Features and layers that are listed for people; of more, only the number is shown.
constexpr std::size_t max_listed = 1000;

/// Inner nodes on the longest way of a tree. Children come after their parents.
std::uint64_t depth_of(const TreeEnsemble& trees, std::uint64_t tree, std::vector<std::uint32_t>& depths) {
  const std::uint64_t begin = trees.first_node[tree], end = trees.first_node[tree + 1];
  depths.assign(end - begin, 1);
  std::uint32_t deepest = 0;
  for (std::uint64_t place = 0; place < end - begin; ++place) {
    const TreeNode& node = trees.nodes[begin + place];
    for (const std::int32_t child : {node.left, node.right})
      if (child >= 0) depths[static_cast<std::size_t>(child)] = depths[place] + 1;
    deepest = std::max(deepest, depths[place]);
  }
  return deepest;
}

Json tree_figures(const TreeEnsemble& trees) {
  std::uint64_t greatest_depth = 0, max_leaves = 0;
  std::vector<std::uint32_t> depths;
  for (std::uint64_t tree = 0; tree < trees.trees(); ++tree) {
    greatest_depth = std::max(greatest_depth, depth_of(trees, tree, depths));
    max_leaves = std::max(max_leaves, trees.first_leaf[tree + 1] - trees.first_leaf[tree]);
  }
  return {{"trees", trees.trees()},    {"nodes", trees.nodes.size()},      {"leaves", trees.leaves.size()},
          {"most_leaves", max_leaves}, {"greatest_depth", greatest_depth}, {"tree_inputs", trees.inputs.size()}};
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
  if (as_lines && network.layers.size() > max_listed) {
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
  if (as_lines && features.size() > max_listed) return features.size();
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

/// Writes the phrases of a document as they come.
class PhrasePrinter {
 public:
  explicit PhrasePrinter(bool json) : json_(json) {}

  void add(DocumentStream stream, std::string_view term) {
    if (!has_stream_ || stream != stream_) begin_stream(stream);
    if (term.empty()) return end_phrase();
    if (json_) {
      text_ += in_phrase_ ? "," : has_phrase_ ? ",[" : "[";
      text_ += json_text(term);
    } else {
      text_ += in_phrase_ ? std::string(" ") : fmt::format("{}\t", name_of(stream));
      text_ += term;
    }
    in_phrase_ = has_phrase_ = true;
    if (text_.size() > 64 << 10) flush();
  }
  void end() {
    end_stream();
    flush();
  }

 private:
  static std::string_view name_of(DocumentStream stream) {
    return document_stream_names[static_cast<std::size_t>(stream)];
  }
  void begin_stream(DocumentStream stream) {
    end_stream();
    if (json_) text_ += fmt::format(",\"{}\":[", name_of(stream));
    stream_ = stream;
    has_stream_ = true;
    has_phrase_ = false;
  }
  void end_stream() {
    end_phrase();
    if (json_ && has_stream_) text_ += "]";
    has_stream_ = false;
  }
  void end_phrase() {
    if (in_phrase_) text_ += json_ ? "]" : "\n";
    in_phrase_ = false;
  }
  void flush() {
    print(text_);
    text_.clear();
  }

  bool json_;
  bool has_stream_ = false, has_phrase_ = false, in_phrase_ = false;
  DocumentStream stream_ = DocumentStream::title;
  std::string text_;
};

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

void print_tokens(const IndexReader& index, const ForwardReader& forward, docid_t docid, bool json) {
  const StaticNumbers numbers = forward.numbers(docid);
  if (json)
    print(fmt::format(
        "{{\"docid\":{},\"docno\":{},\"url_bytes\":{},\"url_depth\":{},\"links\":{},\"out_links\":{},\"in_links\":{}",
        docid, json_text(index.docno(docid)), numbers.url_bytes, numbers.url_depth, numbers.links, numbers.out_links,
        numbers.in_links));
  PhrasePrinter printer(json);
  for_each_token(forward, index, docid,
                 [&](DocumentStream stream, std::string_view term) { printer.add(stream, term); });
  printer.end();
  if (json) print("}\n");
}

}  // namespace quern::tools
