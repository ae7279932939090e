#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {
namespace {

/// Which values LightGBM treats as missing.
enum class LightgbmMissing : std::uint8_t { none = 0, zero = 1, nan = 2 };

TreeInputKind input_kind(LightgbmMissing missing) {
  if (missing == LightgbmMissing::zero) return TreeInputKind::zero_missing;
  return missing == LightgbmMissing::nan ? TreeInputKind::value : TreeInputKind::nan_is_zero;
}

/// A node that sends values up to `threshold` to the left.
void set_numeric(LooseTree::Node& node, TreeCollector& trees, std::uint32_t feature, double threshold,
                 LightgbmMissing missing, bool default_left) {
  if (std::isnan(threshold)) trees.fail("a threshold is not a number");
  node.input = trees.input(feature, input_kind(missing));
  node.threshold = greatest_float_up_to(threshold);
  node.missing_left = missing != LightgbmMissing::none && default_left;
}

/// A node that sends `categories` to the left, and all other values, including NaN, to the right.
void set_categories(LooseTree::Node& node, TreeCollector& trees, std::uint32_t feature,
                    std::vector<std::uint32_t> categories) {
  node.input = trees.categories_input(feature, std::move(categories));
  node.threshold = 0;
  node.missing_left = false;
}

/// A model's header and feature names.
struct LightgbmHead {
  std::string version, objective;
  std::uint64_t classes = 1, trees_per_iteration = 1;
  std::uint64_t features = 0;  ///< the greatest feature number plus one
  bool has_features = false;
  std::vector<std::string> names;
  bool averages = false;  ///< the score is the trees' mean (random forests)
};

/// Throws UnsupportedVersion or InvalidArgument if Quern can't read the model, CorruptFile if something is missing.
void check_lightgbm_head(const LightgbmHead& head, const std::string& name) {
  if (head.version != "v2" && head.version != "v3" && head.version != "v4")
    throw UnsupportedVersion(
        "{}: is a LightGBM model of version '{:.20}', but Quern reads v2, v3 and v4; save it with LightGBM 2.1 to 4",
        name, head.version);
  if (head.classes > 1 || head.trees_per_iteration != 1)
    throw InvalidArgument(
        "{}: is a LightGBM model of several classes ('{:.40}'), which don't give a single score; train a ranker, a "
        "regression or a binary classifier",
        name, head.objective);
  if (!head.has_features) throw CorruptFile(name + ": is a LightGBM model without max_feature_idx");
  if (!head.names.empty() && head.names.size() != head.features)
    throw CorruptFile("{}: has {} feature_names for {} features", name, head.names.size(), head.features);
}

/// Builds the model from all of the file's trees.
RankerModel finish_lightgbm(TreeCollector& trees, const LightgbmHead& head, std::string_view format) {
  TreeEnsemble& ensemble = trees.trees();
  ensemble.sum = TreeSum::float64;
  if (head.averages)
    for (std::uint64_t tree = 1; tree <= ensemble.trees(); ++tree) ensemble.group_ends.push_back(tree);
  return trees.finish(format, head.features);
}

constexpr int categorical_bit = 1, default_left_bit = 2, missing_shift = 2;
/// Limit of categories in all splits of a file, which stores them as bit sets.
constexpr std::uint64_t max_categories = std::uint64_t{1} << 28;

/// Reads the numbers of a line "name=1 2 3".
template <class Number>
void read_numbers(std::string_view text, std::vector<Number>& numbers, const TreeCollector& trees,
                  std::string_view name) {
  numbers.clear();
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    Number number = 0;
    if (!read_number(word, number)) trees.fail(fmt::format("{} has '{:.40}', which is not a valid number", name, word));
    numbers.push_back(number);
  }
}

/// A tree's lines as written.
struct LightgbmTree {
  std::uint64_t leaves = 0, categorical_splits = 0;
  std::vector<std::uint64_t> features;
  std::vector<double> thresholds, leaf_values;
  std::vector<int> decisions;
  std::vector<std::int64_t> left, right;
  std::vector<std::uint64_t> boundaries;
  std::vector<std::uint32_t> category_bits;
  bool is_linear = false;
};

class LightgbmReader {
 public:
  explicit LightgbmReader(const ModelFile& file) : file_(file), trees_(file.name) {}

  RankerModel read() {
    for (std::string_view text = file_.bytes; !text.empty();) {
      std::string_view value = take_until(text, '\n');
      if (value.ends_with('\r')) value.remove_suffix(1);
      const std::string_view key = take_until(value, '=');
      if (key == "end of trees") {
        ended_ = true;
        break;
      }
      if (key == "Tree")
        begin_tree();
      else if (in_tree_)
        read_tree_line(key, value);
      else
        read_head_line(key, value);
    }
    end_tree();
    if (!in_tree_) check_lightgbm_head(head_, file_.name);
    // Version 2 doesn't mark the end of files.
    if (!ended_ && head_.version != "v2")
      throw CorruptFile(file_.name + ": ends before the last tree: the LightGBM model is truncated");
    return finish_lightgbm(trees_, head_, lightgbm_format.name);
  }

 private:
  std::uint64_t head_number(std::string_view key, std::string_view value) const {
    std::uint64_t number = 0;
    if (!read_number(trim(value), number))
      throw CorruptFile("{}: {} is '{:.40}', which is not a valid number", file_.name, key, value);
    return number;
  }

  void read_head_line(std::string_view key, std::string_view value) {
    if (key == "version") head_.version = trim(value);
    if (key == "objective") head_.objective = trim(value);
    if (key == "num_class") head_.classes = head_number(key, value);
    if (key == "num_tree_per_iteration") head_.trees_per_iteration = head_number(key, value);
    if (key == "average_output") head_.averages = true;
    if (key == "max_feature_idx") {
      head_.features = head_number(key, value) + 1;
      head_.has_features = head_.features != 0;
    }
    if (key == "feature_names") {
      while (!value.empty())
        if (const std::string_view name = take_until(value, ' '); !name.empty()) head_.names.emplace_back(name);
    }
  }

  void begin_tree() {
    if (in_tree_)
      end_tree();
    else
      check_lightgbm_head(head_, file_.name);
    in_tree_ = true;
    tree_ = {};
  }

  void read_tree_line(std::string_view key, std::string_view value) {
    const auto numbers = [&](auto& to) { read_numbers(value, to, trees_, key); };
    if (key == "num_leaves") tree_.leaves = head_number(key, value);
    if (key == "num_cat") tree_.categorical_splits = head_number(key, value);
    if (key == "is_linear") tree_.is_linear = trim(value) != "0";
    if (key == "split_feature") numbers(tree_.features);
    if (key == "threshold") numbers(tree_.thresholds);
    if (key == "decision_type") numbers(tree_.decisions);
    if (key == "left_child") numbers(tree_.left);
    if (key == "right_child") numbers(tree_.right);
    if (key == "leaf_value") numbers(tree_.leaf_values);
    if (key == "cat_boundaries") numbers(tree_.boundaries);
    if (key == "cat_threshold") numbers(tree_.category_bits);
  }

  void check_counts() const {
    const auto check = [&](const auto& numbers, std::string_view what, std::uint64_t count) {
      if (numbers.size() != count)
        trees_.fail(fmt::format("{} numbers in {} for {} leaves", numbers.size(), what, tree_.leaves));
    };
    if (tree_.is_linear)
      throw InvalidArgument(
          "{}: tree {} has linear models in its leaves, which Quern can't read; train without linear_tree", file_.name,
          trees_.trees().trees());
    if (tree_.leaves == 0) trees_.fail("has no leaves");
    check(tree_.leaf_values, "leaf_value", tree_.leaves);
    if (tree_.leaves == 1) return;
    const std::uint64_t nodes = tree_.leaves - 1;
    check(tree_.features, "split_feature", nodes);
    check(tree_.thresholds, "threshold", nodes);
    check(tree_.left, "left_child", nodes);
    check(tree_.right, "right_child", nodes);
    if (!tree_.decisions.empty()) check(tree_.decisions, "decision_type", nodes);
  }

  /// The categories of bit set `split` of the tree.
  std::vector<std::uint32_t> categories(double split) {
    const auto at = static_cast<std::uint64_t>(split >= 0 && split < 1e9 ? split : 1e9);
    const std::vector<std::uint64_t>& ends = tree_.boundaries;
    if (at + 1 >= ends.size() || ends[at] > ends[at + 1] || ends[at + 1] > tree_.category_bits.size())
      trees_.fail("a split's categories are outside of cat_boundaries and cat_threshold");
    for (std::uint64_t word = ends[at]; word < ends[at + 1]; ++word)
      categories_ += static_cast<unsigned>(std::popcount(tree_.category_bits[word]));
    if (categories_ > max_categories) trees_.fail("the splits so far have a total of more than 268,435,456 categories");
    std::vector<std::uint32_t> found;
    for (std::uint64_t word = ends[at]; word < ends[at + 1]; ++word) {
      for (std::uint32_t bit = 0; bit < 32; ++bit)
        if (tree_.category_bits[word] >> bit & 1)
          found.push_back(static_cast<std::uint32_t>(32 * (word - ends[at])) + bit);
    }
    return found;
  }

  /// LightGBM numbers inner nodes from 0, and leaves as -1, -2, and so on. Here leaves come after inner nodes.
  std::int64_t node_number(std::int64_t child) const {
    const auto nodes = static_cast<std::int64_t>(tree_.leaves) - 1;
    if (child >= nodes || child < -nodes - 1) trees_.fail(fmt::format("the child {} does not exist", child));
    return child >= 0 ? child : nodes - child - 1;
  }

  void set_split(LooseTree::Node& node, std::size_t split) {
    const std::uint64_t index = tree_.features[split];
    if (index >= head_.features)
      trees_.fail(fmt::format("node {} uses feature {}, but there are only {} features", split, index, head_.features));
    const std::uint32_t feature = trees_.features().by_index(index, head_.names, "Column_");
    const int decision = tree_.decisions.empty() ? 0 : tree_.decisions[split];
    const int missing = decision >> missing_shift & 3;
    node.left = node_number(tree_.left[split]);
    node.right = node_number(tree_.right[split]);
    if (decision & categorical_bit) return set_categories(node, trees_, feature, categories(tree_.thresholds[split]));
    if (missing > 2) trees_.fail(fmt::format("node {} has the unknown decision_type {}", split, decision));
    set_numeric(node, trees_, feature, tree_.thresholds[split], static_cast<LightgbmMissing>(missing),
                (decision & default_left_bit) != 0);
  }

  void end_tree() {
    if (!in_tree_) return;
    check_counts();
    const std::size_t splits = tree_.leaves - 1;
    loose_.nodes.assign(splits + tree_.leaves, {});
    for (std::size_t split = 0; split < splits; ++split) set_split(loose_.nodes[split], split);
    for (std::size_t leaf = 0; leaf < tree_.leaves; ++leaf) loose_.nodes[splits + leaf].leaf = tree_.leaf_values[leaf];
    if (trees_.add(loose_) != loose_.nodes.size())
      throw CorruptFile("{}: tree {}: its root does not reach all of its nodes", file_.name,
                        trees_.trees().trees() - 1);
  }

  const ModelFile& file_;
  LightgbmHead head_;
  bool in_tree_ = false, ended_ = false;
  LightgbmTree tree_;
  LooseTree loose_;
  TreeCollector trees_;
  std::uint64_t categories_ = 0;
};

bool is_lightgbm(std::string_view head) {
  if (head.substr(0, 4) != "tree") return false;
  head.remove_prefix(4);
  return trim(head).substr(0, 8) == "version=";
}

RankerModel read_lightgbm(const ModelFile& file) { return LightgbmReader(file).read(); }

/// Reads a split's categories "1||10||100"; false if they are malformed.
bool read_category_list(std::string_view text, std::vector<std::uint32_t>& categories) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("||", at), text.size());
    std::uint32_t category = 0;
    if (!read_number(text.substr(at, end - at), category)) return false;
    categories.push_back(category);
    at = end + 2;
  }
  return true;
}

class LightgbmJsonReader : public JsonEvents {
 public:
  explicit LightgbmJsonReader(const ModelFile& file) : name_(file.name), trees_(file.name) {}

  void begin_object() override {
    const bool is_root = nodes_.empty() && key_ == "tree_structure";
    const bool is_child = !nodes_.empty() && arrays_in_node_ == 0 && (key_ == "left_child" || key_ == "right_child");
    if (is_root || is_child) {
      nodes_.emplace_back();
      nodes_.back().number = loose_.nodes.size();
      nodes_.back().is_left = key_ == "left_child";
      loose_.nodes.emplace_back();
    } else if (!nodes_.empty()) {
      trees_.fail("has an object in a node that is not one of its children");
    } else {
      path_.push_back(std::exchange(key_, {}));
    }
    key_.clear();
  }
  void end_object() override {
    key_.clear();
    if (nodes_.empty()) {
      path_.pop_back();
      return;
    }
    end_node();
    if (!nodes_.empty()) return;
    trees_.add(loose_);
    loose_.nodes.clear();
  }
  void begin_array() override {
    if (!nodes_.empty()) {
      if (key_ == "leaf_coeff" || key_ == "leaf_features")
        throw InvalidArgument(
            "{}: tree {} has linear models in its leaves, which Quern can't read; train without linear_tree", name_,
            trees_.trees().trees());
      ++arrays_in_node_;
    } else {
      path_.push_back(std::exchange(key_, {}));
    }
  }
  void end_array() override {
    if (!nodes_.empty())
      --arrays_in_node_;
    else
      path_.pop_back();
    key_.clear();
  }
  void key(std::string_view name) override { key_ = name; }

  void number(const JsonNumber& value) override {
    if (!nodes_.empty()) return node_number(value);
    if (path_.size() != 1) return;
    const auto get = [&](std::uint64_t& to) {
      std::int64_t number = 0;
      if (!value.get(number) || number < 0) throw CorruptFile("{}: {} is not a valid number", name_, key_);
      to = static_cast<std::uint64_t>(number);
    };
    if (key_ == "num_class") get(head_.classes);
    if (key_ == "num_tree_per_iteration") get(head_.trees_per_iteration);
    if (key_ == "max_feature_idx") {
      get(head_.features);
      ++head_.features;
      head_.has_features = true;
    }
  }

  void text(std::string_view value) override {
    if (!nodes_.empty()) return node_text(value);
    if (path_.size() == 2 && path_.back() == "feature_names") head_.names.emplace_back(value);
    if (path_.size() != 1) return;
    if (key_ == "version") head_.version = value;
    if (key_ == "objective") head_.objective = value;
  }

  void boolean(bool value) override {
    if (!nodes_.empty() && key_ == "default_left") nodes_.back().default_left = value;
    if (path_.size() == 1 && key_ == "average_output") head_.averages = value;
  }

  RankerModel finish() {
    check_lightgbm_head(head_, name_);
    if (greatest_feature_ >= head_.features)
      throw CorruptFile("{}: trees use feature {}, but there are only {} features", name_, greatest_feature_,
                        head_.features);
    if (!head_.names.empty()) trees_.features().rename(head_.names);
    return finish_lightgbm(trees_, head_, lightgbm_json_format.name);
  }

 private:
  /// A node of the current tree, as read so far.
  struct Node {
    std::size_t number = 0;  ///< in loose_
    bool is_left = false;    ///< it is its parent's left child
    bool has_leaf = false, has_feature = false, has_threshold = false, is_categorical = false, default_left = false;
    double leaf = 0, threshold = 0;
    std::uint64_t feature = 0;
    LightgbmMissing missing = LightgbmMissing::none;
    std::vector<std::uint32_t> categories;
  };

  void node_number(const JsonNumber& value) {
    Node& node = nodes_.back();
    if (arrays_in_node_ > 0) return;
    const auto get = [&](auto& to) {
      if (!value.get(to)) trees_.fail(fmt::format("{} is not a valid number", key_));
    };
    if (key_ == "leaf_value") {
      get(node.leaf);
      node.has_leaf = true;
    } else if (key_ == "threshold") {
      get(node.threshold);
      node.has_threshold = true;
      // Some versions write a single category as a number.
      if (node.threshold >= 0 && node.threshold < 0x1p31)
        node.categories.assign(1, static_cast<std::uint32_t>(node.threshold));
    } else if (key_ == "split_feature") {
      std::int64_t feature = 0;
      get(feature);
      if (feature < 0) trees_.fail("split_feature is not a valid number");
      node.feature = static_cast<std::uint64_t>(feature);
      node.has_feature = true;
    }
  }

  void node_text(std::string_view value) {
    Node& node = nodes_.back();
    if (key_ == "decision_type") {
      if (value != "<=" && value != "==") trees_.fail(fmt::format("unknown decision_type '{:.20}'", value));
      node.is_categorical = value == "==";
    } else if (key_ == "missing_type") {
      if (value != "None" && value != "Zero" && value != "NaN")
        trees_.fail(fmt::format("unknown missing_type '{:.20}'", value));
      node.missing = value == "None"   ? LightgbmMissing::none
                     : value == "Zero" ? LightgbmMissing::zero
                                       : LightgbmMissing::nan;
    } else if (key_ == "threshold") {
      node.has_threshold = true;
      node.categories.clear();
      if (!read_category_list(value, node.categories))
        trees_.fail(fmt::format("the categories '{:.40}' can't be read", value));
    }
  }

  void end_node() {
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    LooseTree::Node& made = loose_.nodes[node.number];
    if (node.has_leaf) {
      if (made.left != -1 || made.right != -1) trees_.fail("a leaf has children");
      made.leaf = node.leaf;
    } else {
      if (made.left == -1 || made.right == -1 || !node.has_feature || !node.has_threshold)
        trees_.fail("a node lacks a child, or its split_feature or threshold");
      greatest_feature_ = std::max(greatest_feature_, node.feature);
      const std::uint32_t feature = trees_.features().by_index(node.feature, {}, "Column_");
      if (node.is_categorical)
        set_categories(made, trees_, feature, std::move(node.categories));
      else
        set_numeric(made, trees_, feature, node.threshold, node.missing, node.default_left);
    }
    if (nodes_.empty()) return;
    LooseTree::Node& parent = loose_.nodes[nodes_.back().number];
    std::int64_t& child = node.is_left ? parent.left : parent.right;
    if (child != -1) trees_.fail("a node has the same child twice");
    child = static_cast<std::int64_t>(node.number);
  }

  std::string name_;
  std::vector<std::string> path_;
  std::string key_;
  std::vector<Node> nodes_;  ///< path from the root to the current node
  std::size_t arrays_in_node_ = 0;
  std::uint64_t greatest_feature_ = 0;
  LightgbmHead head_;
  LooseTree loose_;
  TreeCollector trees_;
};

/// Whether `head` begins an object with "name": "tree" first.
bool is_lightgbm_json(std::string_view head) { return begins_with_tokens(head, {"{", "\"name\"", ":", "\"tree\""}); }

RankerModel read_lightgbm_json(const ModelFile& file) {
  LightgbmJsonReader reader(file);
  read_json(file.bytes, file.name, reader);
  return reader.finish();
}

}  // namespace

const ModelFormat lightgbm_format = {"lightgbm", "LightGBM's text files, v2 to v4", is_lightgbm, read_lightgbm};

const ModelFormat lightgbm_json_format = {"lightgbm-json", "LightGBM's JSON dumps", is_lightgbm_json,
                                          read_lightgbm_json};

}  // namespace quern
