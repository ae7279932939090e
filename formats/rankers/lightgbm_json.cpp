#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/lightgbm_parts.hpp"
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

const ModelFormat lightgbm_json_format = {"lightgbm-json", "LightGBM's JSON dumps", is_lightgbm_json,
                                          read_lightgbm_json};

}  // namespace quern
