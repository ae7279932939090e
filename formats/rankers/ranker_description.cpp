#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "quern/formats/rankers/expression.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/formats/rankers/tree_collector.hpp"
#include "quern/formats/rankers/weight_array.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

/// Limit of a description: parsing needs more memory than its bytes. Weights are in separate files.
constexpr std::size_t max_description_bytes = std::size_t{16} << 20;

/// A line's "section.key = value".
struct DescriptionEntry {
  std::string key, value;
  std::size_t line = 0;
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) words.emplace_back(word);
  return words;
}

std::string_view without_comment(std::string_view line) { return trim(line.substr(0, line.find('#'))); }

/// Calls take() with each line that has a key. Throws CorruptFile if a line isn't a section, key or comment.
template <class Take>
void read_entries(const ModelFile& file, const Take& take) {
  if (file.bytes.size() > max_description_bytes)
    throw InvalidArgument(file.name + ": is larger than 16 MiB; put the weights into .npy or .safetensors files");
  std::string section;
  std::size_t number = 0;
  for (std::string_view rest = file.bytes; !rest.empty();) {
    const std::string_view line = without_comment(take_until(rest, '\n'));
    ++number;
    if (line.empty()) continue;
    const bool is_section = line.front() == '[' && line.back() == ']';
    if (is_section ? line.size() < 3 : line.find('=') == line.npos || line.front() == '=')
      throw CorruptFile("{}, line {}: '{:.40}' is neither [section] nor key = value", file.name, number, line);
    if (is_section) {
      section = std::string(trim(line.substr(1, line.size() - 2))) + '.';
      continue;
    }
    std::string_view value = line;
    const std::string_view key = trim(take_until(value, '='));
    take(DescriptionEntry{section + std::string(key), std::string(trim(value)), number});
  }
}

/// A layer as written.
struct LayerLines {
  std::string weights, bias;
  std::size_t weights_line = 0, bias_line = 0;
  std::optional<Activation> activation;
};

/// Reads "body.bm25 <= 3.5 ? -0.5 : 1" and adds it to `trees`:
/// tree: number | ( tree ) | feature <= number ? tree : tree | feature <= number or missing ? tree : tree
class DescriptionTreeReader {
 public:
  DescriptionTreeReader(std::string_view text, const std::string& place, TreeCollector& trees)
      : text_(text), place_(place), trees_(trees) {}

  void read() {
    for (bool is_complete = false; !is_complete;) {
      begin_part();
      is_complete = end_parts();
    }
    if (!next().empty()) fail(fmt::format("unexpected '{:.40}' after the tree", token_));
    trees_.add(loose_);
  }

 private:
  enum class Waits : std::uint8_t { closing, left, right };
  /// An open parenthesis, or a node that needs a child.
  struct Open {
    Waits waits;
    std::size_t node;
  };

  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: {}", place_, why); }

  /// Moves to the next token; empty at the end.
  std::string_view next() {
    text_ = trim(text_);
    std::size_t size = 0;
    if (text_.substr(0, 2) == "<=")
      size = 2;
    else if (!text_.empty() && is_mark(text_.front()))
      size = 1;
    else
      while (size < text_.size() && !is_ascii_space(text_[size]) && !is_mark(text_[size]) && text_[size] != '<') ++size;
    if (size == 0 && !text_.empty()) fail("has a '<' without '='");
    token_ = text_.substr(0, size);
    text_.remove_prefix(size);
    return token_;
  }
  static bool is_mark(char c) { return c == '(' || c == ')' || c == '?' || c == ':'; }
  void expect(std::string_view token) {
    if (next() != token) fail(fmt::format("found '{:.40}' where '{}' was expected", token_, token));
  }

  /// Reads up to the first leaf.
  void begin_part() {
    for (;;) {
      const std::string_view token = next();
      if (token == "(") {
        open_.push_back({Waits::closing, 0});
        continue;
      }
      if (token.empty() || is_mark(token.front())) fail("a tree is a number, or 'feature <= number ? tree : tree'");
      done_ = loose_.nodes.size();
      loose_.nodes.emplace_back();
      if (trim(text_).substr(0, 2) != "<=") {
        float leaf = 0;
        if (!read_number(token, leaf) || !std::isfinite(leaf))
          fail(fmt::format("'{:.40}' is not a finite number", token));
        loose_.nodes[done_].leaf = leaf;
        return;
      }
      read_condition(token);
    }
  }

  void read_condition(std::string_view feature) {
    LooseTree::Node& node = loose_.nodes[done_];
    node.input = trees_.input(trees_.features().by_name(feature), TreeInputKind::value);
    expect("<=");
    double threshold = 0;
    if (!read_number(next(), threshold) || std::isnan(threshold)) fail(fmt::format("'{:.40}' is not a number", token_));
    node.threshold = greatest_float_up_to(threshold);
    if (next() == "or") {
      expect("missing");
      node.missing_left = true;
      next();
    }
    if (token_ != "?") fail(fmt::format("found '{:.40}' where '?' was expected", token_));
    open_.push_back({Waits::left, done_});
  }

  /// Closes everything that the last tree completes. True if nothing is open any more.
  bool end_parts() {
    while (!open_.empty()) {
      Open& open = open_.back();
      if (open.waits == Waits::left) {
        expect(":");
        loose_.nodes[open.node].left = static_cast<std::int64_t>(done_);
        open.waits = Waits::right;
        return false;
      }
      if (open.waits == Waits::right) {
        loose_.nodes[open.node].right = static_cast<std::int64_t>(done_);
        done_ = open.node;
      } else {
        expect(")");
      }
      open_.pop_back();
    }
    return true;
  }

  std::string_view text_, token_;
  const std::string& place_;
  TreeCollector& trees_;
  LooseTree loose_;
  std::vector<Open> open_;
  std::size_t done_ = 0;  ///< node of the last tree read
};

class DescriptionReader {
 public:
  explicit DescriptionReader(const ModelFile& file) : file_(file), trees_(file.name) {}

  RankerModel read() {
    read_entries(file_, [this](const DescriptionEntry& entry) {
      line_ = entry.line;
      read_entry(entry);
    });
    line_ = 0;
    if (!has_version_) fail("has no version: write version = 1 below [ranker]");
    NetworkModel network;
    const std::size_t inputs = transformations_.size() + trees_.trees().trees();
    if (inputs == 0) fail("has no [inputs]");
    add_layers(inputs, network);
    RankerModel model = trees_.finish(ranker_description_format.name, columns_);
    model.first_number = first_number_;
    network.trees = std::get<TreeEnsemble>(std::move(model.function));
    std::unordered_map<std::string_view, std::uint32_t> places;
    for (std::uint32_t i = 0; i < model.features.size(); ++i) places[model.features[i].name] = i;
    const auto place = [&](std::uint32_t& feature) { feature = places.at(transformation_features_[feature]); };
    for (Transformation& transformation : transformations_) {
      place(transformation.feature);
      for (ExpressionStep& step : transformation.expression)
        if (step.code == ExpressionCode::feature) place(step.feature);
    }
    network.transformations = std::move(transformations_);
    model.function = std::move(network);
    return model;
  }

 private:
  std::string place() const { return line_ > 0 ? fmt::format("{}, line {}", file_.name, line_) : file_.name; }
  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: {}", place(), why); }

  void read_entry(const DescriptionEntry& entry) {
    const std::string_view key = entry.key;
    if (key == "ranker.version") return read_version(entry.value);
    if (key.substr(0, 7) == "inputs.") return read_input(key.substr(7), entry.value);
    if (key.substr(0, 6) == "layer.") return read_layer(key.substr(6), entry.value);
    fail(fmt::format("unknown key '{:.60}'; sections are [ranker], [inputs], [layer.1], [layer.2], …", key));
  }

  void read_version(std::string_view value) {
    if (value != "1")
      throw UnsupportedVersion("{}: is a description of version '{:.20}', but Quern reads version 1", place(), value);
    has_version_ = true;
  }

  float read_parameter(std::string_view text, bool may_be_infinite) const {
    float value = 0;
    if (!read_number(text, value) || std::isnan(value) || (!may_be_infinite && !std::isfinite(value)))
      fail(fmt::format("'{:.40}' is not a {}number", text, may_be_infinite ? "" : "finite "));
    return value;
  }

  void read_input(std::string_view kind, std::string_view value) {
    if (kind == "tree") return DescriptionTreeReader(value, place(), trees_).read();
    if (kind == "trees") return add_trees(std::string(value));
    if (!has_named(transformation_names, kind))
      fail(fmt::format("inputs have the keys linear, log-linear, bucket, free-form, tree and trees, not '{:.40}'",
                       kind));
    if (trees_.trees().trees() > 0) fail("follows trees, which must be the last inputs: put it before them");
    Transformation made;
    made.kind = find_named(transformation_names, kind, "kind of input").value;
    const std::vector<std::string> words = words_of(value);
    if (made.kind == TransformationKind::free_form) {
      made.feature = static_cast<std::uint32_t>(transformation_features_.size());
      made.expression = read_expression(value, place(), [this](std::string_view name) { return add_feature(name); });
      transformations_.push_back(std::move(made));
      return;
    }
    const bool is_bucket = made.kind == TransformationKind::bucket;
    if (words.empty() || words.size() > 3 || (is_bucket && words.size() != 3))
      fail(
          fmt::format("{} needs {}", kind, is_bucket ? "a feature and two bounds" : "a feature and up to two numbers"));
    made.feature = add_feature(words[0]);
    if (words.size() > 1) made.p1 = read_parameter(words[1], is_bucket);
    if (words.size() > 2) made.p2 = read_parameter(words[2], is_bucket);
    transformations_.push_back(std::move(made));
  }

  /// The place of a transformation's feature in transformation_features_.
  std::uint32_t add_feature(std::string_view name) {
    trees_.features().by_name(name);
    transformation_features_.emplace_back(name);
    return static_cast<std::uint32_t>(transformation_features_.size() - 1);
  }

  /// Reads a file that the description names. Limits the size of each file and of all together.
  std::string read_beside(const std::string& path) {
    if (!file_.read_beside)
      fail(fmt::format("names the file '{:.60}', but a description in memory can't use files", path));
    std::string bytes = file_.read_beside(path);
    bytes_beside_ += bytes.size();
    if (bytes_beside_ > max_model_bytes) fail("the files so far exceed 1 GiB in total");
    return bytes;
  }

  void add_trees(const std::string& path) {
    const std::string bytes = read_beside(path);
    const ModelFormat* const format = find_model_format(std::string_view(bytes).substr(0, model_detection_bytes));
    if (!format || format == &ranker_description_format)
      throw InvalidArgument("{}: '{:.60}' is not a file of trees that Quern can read", place(), path);
    const RankerModel model = format->read({path, without_byte_order_mark(bytes)});
    const auto* const ensemble = std::get_if<TreeEnsemble>(&model.function);
    if (!ensemble) throw InvalidArgument("{}: '{:.60}' has no trees", place(), path);
    const auto is_numbered = [](const ModelFeature& f) { return f.number != ModelFeature::no_number; };
    if (std::any_of(model.features.begin(), model.features.end(), is_numbered) && !model.first_number) {
      first_number_.reset();
      columns_ = std::max(columns_, model.columns);
    }
    append(*ensemble, model.features);
  }

  void append(const TreeEnsemble& from, const std::vector<ModelFeature>& features) {
    TreeEnsemble& to = trees_.trees();
    std::vector<std::uint32_t> inputs;
    for (const TreeInput& input : from.inputs) {
      const std::uint32_t feature = trees_.features().by_name(features[input.feature].name);
      inputs.push_back(input.kind < TreeInputKind::in_categories
                           ? trees_.input(feature, input.kind)
                           : trees_.categories_input(feature, input.categories, input.kind));
    }
    const std::uint64_t nodes = to.nodes.size(), leaves = to.leaves.size();
    for (TreeNode node : from.nodes) {
      node.input = inputs[node.input];
      to.nodes.push_back(node);
    }
    to.leaves.insert(to.leaves.end(), from.leaves.begin(), from.leaves.end());
    for (std::uint64_t tree = 1; tree <= from.trees(); ++tree) {
      to.first_node.push_back(nodes + from.first_node[tree]);
      to.first_leaf.push_back(leaves + from.first_leaf[tree]);
    }
  }

  void read_layer(std::string_view key, const std::string& value) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    std::size_t number = 0;
    if (!read_number(key.substr(0, dot), number) || (number != layers_.size() && number != layers_.size() + 1) ||
        number == 0)
      fail(fmt::format("layers are [layer.1], [layer.2] and so on, in this order, not [layer.{:.20}]",
                       key.substr(0, dot)));
    if (number > layers_.size()) layers_.emplace_back();
    LayerLines& layer = layers_.back();
    const std::string_view setting = key.substr(std::min(dot + 1, key.size()));
    if (setting == "weights" && layer.weights_line == 0) {
      layer.weights = value;
      layer.weights_line = line_;
    } else if (setting == "bias" && layer.bias_line == 0) {
      layer.bias = value;
      layer.bias_line = line_;
    } else if (setting == "activation" && !layer.activation) {
      if (!has_named(activation_names, value))
        fail(fmt::format("unknown activation '{:.40}': use none, relu, sigmoid or tanh", value));
      layer.activation = find_named(activation_names, value, "activation").value;
    } else {
      fail(fmt::format("layers have the keys weights, bias and activation, each once, not '{:.40}'", setting));
    }
  }

  /// Reads numbers, or a file of them: "layer.npy", "net.safetensors:name".
  WeightArray read_weights(const std::string& text) {
    const std::vector<std::string> words = words_of(text);
    float value = 0;
    if (words.empty()) fail("numbers or the name of a file are missing");
    if (read_number(std::string_view(words[0]), value)) {
      WeightArray array;
      for (const std::string& word : words) array.values.push_back(read_parameter(word, false));
      array.shape = {array.values.size()};
      return array;
    }
    const std::string_view extension = ".safetensors:";
    if (const std::size_t found = text.find(extension); found != text.npos) {
      const std::string path = text.substr(0, found + extension.size() - 1);
      return read_safetensors(read_beside(path), path, std::string_view(text).substr(found + extension.size()));
    }
    if (text.size() < 4 || text.substr(text.size() - 4) != ".npy")
      fail(fmt::format("'{:.60}' is neither numbers nor FILE.npy nor FILE.safetensors:TENSOR", text));
    return read_npy(read_beside(text), text);
  }

  void add_layers(std::size_t inputs, NetworkModel& network) {
    constexpr std::size_t max_inputs = std::numeric_limits<std::uint32_t>::max();
    if (layers_.empty()) fail("has no layers: add at least [layer.1]; the last layer has one output");
    for (const LayerLines& lines : layers_) {
      line_ = lines.weights_line;
      if (line_ == 0) fail("a layer has no weights");
      DenseLayer layer;
      WeightArray weights = read_weights(lines.weights);
      const bool has_rows = weights.shape.size() == 2;
      if (weights.values.empty() || inputs > max_inputs || weights.values.size() % inputs != 0 ||
          (has_rows && weights.shape[1] != inputs))
        fail(fmt::format("{} weights for {} inputs; the number of weights must be outputs × inputs",
                         weights.values.size(), inputs));
      layer.inputs = static_cast<std::uint32_t>(inputs);
      layer.outputs = static_cast<std::uint32_t>(weights.values.size() / inputs);
      layer.weights = std::move(weights.values);
      layer.bias.assign(layer.outputs, 0);
      if (lines.bias_line > 0) {
        line_ = lines.bias_line;
        layer.bias = read_weights(lines.bias).values;
        if (layer.bias.size() != layer.outputs)
          fail(fmt::format("a bias of {} numbers for {} outputs", layer.bias.size(), layer.outputs));
      }
      layer.activation = lines.activation.value_or(Activation::none);
      inputs = layer.outputs;
      network.layers.push_back(std::move(layer));
    }
    if (inputs != 1) fail(fmt::format("the last layer has {} outputs; it must have one, the score", inputs));
  }

  const ModelFile& file_;
  std::size_t line_ = 0;  ///< of the current entry
  bool has_version_ = false;
  std::uint64_t bytes_beside_ = 0;
  std::vector<Transformation> transformations_;  ///< their features are indices into the next member
  std::vector<std::string> transformation_features_;
  std::vector<LayerLines> layers_;
  std::optional<std::uint32_t> first_number_ = 1;  ///< unless files of trees count in another way
  std::uint64_t columns_ = 0;                      ///< of the training data of these files
  TreeCollector trees_;
};

bool is_description(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = without_comment(take_until(head, '\n'));
    if (!line.empty()) return line == "[ranker]";
  }
  return false;
}

RankerModel read_description(const ModelFile& file) { return DescriptionReader(file).read(); }

}  // namespace

const ModelFormat ranker_description_format = {"description",
                                               "Quern's descriptions of networks over transformed features and trees",
                                               is_description, read_description};

}  // namespace quern
