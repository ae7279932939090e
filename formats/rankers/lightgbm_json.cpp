#include <fmt/format.h>

#include "quern/formats/rankers/lightgbm_model.hpp"
#include "quern/formats/rankers/model_format.hpp"

namespace quern {
namespace {

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
  /// `head`: of the same file, if it has been read before.
  explicit LightgbmJsonReader(const ModelFile& file, LightgbmHead head = {})
      : name_(file.name), known_(std::move(head)), trees_(file.name, known_) {}

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
      if (in_data_frame()) data_frame_.begin_object();
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
      if (in_data_frame()) data_frame_.begin_array();
    }
  }
  void end_array() override {
    if (in_data_frame()) data_frame_.end_array();
    if (in_data_frame() && path_.size() == 2) head_.data_frame = data_frame_.take();
    if (!nodes_.empty())
      --arrays_in_node_;
    else
      path_.pop_back();
    key_.clear();
  }
  void key(std::string_view name) override { key_ = name; }

  void number(const JsonNumber& value) override {
    if (!nodes_.empty()) return node_number(value);
    if (in_data_frame()) return data_frame_.number(value);
    if (path_.size() != 1) return other_number(value);
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
    if (in_data_frame()) data_frame_.text(value);
    if (path_.size() != 1) return;
    if (key_ == "version") head_.version = value;
    if (key_ == "objective") head_.objective = value;
  }

  void boolean(bool value) override {
    if (!nodes_.empty() && key_ == "default_left") nodes_.back().split.default_left = value;
    if (path_.size() == 1 && key_ == "average_output") head_.averages = value;
    if (in_data_frame()) data_frame_.boolean(value);
  }
  void null() override {
    if (in_data_frame()) data_frame_.null();
  }

  /// Whether the file must be read again with head(), since categories came after trees that depend on them.
  bool must_read_again() const { return known_.data_frame.empty() && !head_.data_frame.empty(); }
  /// The file's contents besides trees.
  LightgbmHead head() const {
    LightgbmHead head = head_;
    for (std::size_t column = 0; column < head.names.size(); ++column) {
      const auto found = columns_.find(head.names[column]);
      head.columns.push_back(found == columns_.end() ? LightgbmColumn() : found->second);
    }
    return head;
  }

  RankerModel finish() {
    check_lightgbm_head(head_, name_);
    if (greatest_feature_ >= head_.features)
      throw CorruptFile("{}: trees use feature {}, but there are only {} features", name_, greatest_feature_,
                        head_.features);
    if (!head_.names.empty()) trees_.features().rename(head_.names);
    return trees_.finish(head_, lightgbm_json_format.name);
  }

 private:
  /// A node of the current tree, as read so far.
  struct Node {
    std::size_t number = 0;  ///< in loose_
    bool is_left = false;    ///< it is its parent's left child
    bool has_leaf = false, has_feature = false, has_threshold = false;
    double leaf = 0;
    LightgbmSplit split;
  };

  /// Whether the open array or object, or the value that is read, belongs to pandas_categorical.
  bool in_data_frame() const {
    return nodes_.empty() && !path_.empty() && (path_.size() > 1 ? path_[1] : key_) == "pandas_categorical";
  }

  void other_number(const JsonNumber& value) {
    double number = 0;
    if (!value.get(number) || path_.size() < 3 || path_[1] != "feature_infos") return;
    if (path_.size() == 3 && (key_ == "min_value" || key_ == "max_value")) columns_[path_[2]].add(number);
    if (path_.size() == 4) columns_[path_[2]].is_categorical = true;  // in "values"
  }

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
      get(node.split.threshold);
      node.has_threshold = true;
      // Some versions write a single category as a number.
      if (node.split.threshold >= 0 && node.split.threshold < 0x1p31)
        node.split.categories.assign(1, static_cast<std::uint32_t>(node.split.threshold));
    } else if (key_ == "split_feature") {
      std::int64_t feature = 0;
      get(feature);
      if (feature < 0) trees_.fail("split_feature is not a valid number");
      node.split.feature = static_cast<std::uint64_t>(feature);
      node.has_feature = true;
    }
  }

  void node_text(std::string_view value) {
    Node& node = nodes_.back();
    if (key_ == "decision_type") {
      if (value != "<=" && value != "==") trees_.fail(fmt::format("unknown decision_type '{:.20}'", value));
      node.split.is_categorical = value == "==";
    } else if (key_ == "missing_type") {
      if (value != "None" && value != "Zero" && value != "NaN")
        trees_.fail(fmt::format("unknown missing_type '{:.20}'", value));
      node.split.missing = value == "None"   ? LightgbmMissing::none
                           : value == "Zero" ? LightgbmMissing::zero
                                             : LightgbmMissing::nan;
    } else if (key_ == "threshold") {
      node.has_threshold = true;
      node.split.categories.clear();
      if (!read_category_list(value, node.split.categories))
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
      greatest_feature_ = std::max(greatest_feature_, node.split.feature);
      const std::vector<std::string> unnamed;
      const bool is_named = node.split.feature < known_.names.size();
      const std::uint32_t feature =
          trees_.features().by_index(node.split.feature, is_named ? known_.names : unnamed, "Column_");
      trees_.set_split(made, feature, std::move(node.split));
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
  const LightgbmHead known_;  ///< from an earlier reading
  LightgbmHead head_;
  DataFrameReader data_frame_{name_};
  std::unordered_map<std::string, LightgbmColumn> columns_;  ///< by name
  LooseTree loose_;
  LightgbmTrees trees_;
};

/// Whether `head` begins an object with "name": "tree" first.
bool is_lightgbm_json(std::string_view head) { return begins_with_tokens(head, {"{", "\"name\"", ":", "\"tree\""}); }

RankerModel read_lightgbm_json(const ModelFile& file) {
  LightgbmJsonReader reader(file);
  read_json(file.bytes, file.name, reader);
  if (!reader.must_read_again()) return reader.finish();
  LightgbmJsonReader again(file, reader.head());
  read_json(file.bytes, file.name, again);
  return again.finish();
}

}  // namespace

const ModelFormat lightgbm_json_format = {"lightgbm-json", "LightGBM's JSON dumps", is_lightgbm_json,
                                          read_lightgbm_json};

}  // namespace quern
