#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {
namespace {

/// A node of an XGBoost dump, with the dump's own numbering.
struct XgboostDumpNode {
  std::int64_t id = -1;
  bool is_leaf = false;
  float leaf = 0;
  std::string feature;
  bool has_threshold = false, has_categories = false;
  float threshold = 0;                    ///< values below it go to `yes`
  std::vector<std::uint32_t> categories;  ///< values among them go to `yes`
  std::int64_t yes = -1, no = -1, missing = -1;
};

/// Collects the nodes of a dump's trees, tree by tree.
class XgboostDump {
 public:
  explicit XgboostDump(const std::string& name) : trees_(name) {}

  void add(XgboostDumpNode node);
  /// Ends a tree; its root is node 0.
  void end_tree();
  RankerModel finish(std::string_view format);
  [[noreturn]] void fail(std::string_view why) const { trees_.fail(why); }
  std::uint64_t trees() const { return trees_.trees().trees(); }

 private:
  std::int64_t place_of(std::int64_t id) const;

  LooseTree loose_;                                       ///< children are IDs until the tree ends
  std::unordered_map<std::int64_t, std::size_t> places_;  ///< in loose_, by ID
  TreeCollector trees_;
};

void XgboostDump::add(XgboostDumpNode node) {
  if (node.id < 0) fail("a node has no number");
  if (!places_.try_emplace(node.id, loose_.nodes.size()).second) fail(fmt::format("node {} occurs twice", node.id));
  LooseTree::Node made;
  if (node.is_leaf) {
    made.leaf = node.leaf;
  } else {
    if (node.feature.empty() || node.yes < 0 || node.no < 0)
      fail(fmt::format("node {} lacks a feature, or its children yes and no", node.id));
    if (node.has_threshold == node.has_categories)
      fail(fmt::format(
          "node {} has neither a threshold nor categories; Quern can't read features of the type i (indicators)",
          node.id));
    if (node.missing >= 0 && node.missing != node.yes && node.missing != node.no)
      fail(fmt::format("missing values of node {} go to {}, which is not its child", node.id, node.missing));
    const std::uint32_t feature = trees_.features().by_name(node.feature);
    made.left = node.yes;
    made.right = node.no;
    made.missing_left = node.missing == node.yes;
    if (node.has_categories) {
      made.input = trees_.categories_input(feature, std::move(node.categories));
    } else {
      if (std::isnan(node.threshold) || node.threshold == -std::numeric_limits<float>::infinity())
        fail(fmt::format("the threshold of node {} is -infinity or NaN", node.id));
      made.input = trees_.input(feature, TreeInputKind::value);
      made.threshold = greatest_float_below(node.threshold);
    }
  }
  loose_.nodes.push_back(made);
}

std::int64_t XgboostDump::place_of(std::int64_t id) const {
  const auto found = places_.find(id);
  if (found == places_.end()) fail(fmt::format("the node {} is missing", id));
  return static_cast<std::int64_t>(found->second);
}

void XgboostDump::end_tree() {
  for (LooseTree::Node& node : loose_.nodes) {
    if (node.left == -1) continue;
    node.left = place_of(node.left);
    node.right = place_of(node.right);
  }
  const auto root = static_cast<std::size_t>(place_of(0));
  if (trees_.add(loose_, root) != loose_.nodes.size())
    throw CorruptFile("{}: tree {}: node 0 does not reach all nodes", trees_.name(), trees() - 1);
  loose_.nodes.clear();
  // Not clear(): its time grows with the largest tree so far.
  places_ = {};
}

RankerModel XgboostDump::finish(std::string_view format) {
  if (trees() == 0) throw CorruptFile(trees_.name() + ": has no trees");
  trees_.trees().sum = TreeSum::float32;
  return trees_.finish(format);
}

class XgboostTextDumpReader {
 public:
  explicit XgboostTextDumpReader(const ModelFile& file) : file_(file), dump_(file.name) {}

  RankerModel read() {
    for (std::string_view text = file_.bytes; !text.empty();) {
      ++line_;
      add_line(trim(take_until(text, '\n')));
    }
    end_tree();
    return dump_.finish(xgboost_text_dump_format.name);
  }

 private:
  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}, line {}: {}", file_.name, line_, why); }
  void end_tree() {
    if (has_nodes_) dump_.end_tree();
    has_nodes_ = false;
  }

  void add_line(std::string_view line) {
    if (line.empty()) return;
    if (line.substr(0, 8) == "booster[") return end_tree();
    XgboostDumpNode node;
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !read_number(line.substr(0, colon), node.id)) fail("is not a tree node");
    // Without headings, each tree begins with its node 0.
    if (node.id == 0) end_tree();
    line.remove_prefix(colon + 1);
    if (line.substr(0, 5) == "leaf=") {
      node.is_leaf = true;
      if (!read_number(line.substr(5, line.find(',') - 5), node.leaf)) fail("the leaf's value is not a number");
    } else {
      read_split(line, node);
    }
    dump_.add(std::move(node));
    has_nodes_ = true;
  }

  /// Reads "[feature<threshold] yes=1,no=2,missing=1" or "[feature:{categories}] …".
  void read_split(std::string_view line, XgboostDumpNode& node) const {
    const std::size_t end = line.find("] ");
    if (line.empty() || line.front() != '[' || end == line.npos) fail("is neither a leaf nor a split");
    const std::string_view split = line.substr(1, end - 1);
    if (const std::size_t below = split.rfind('<'); below != split.npos && split.back() != '}') {
      node.feature = split.substr(0, below);
      node.has_threshold = read_number(split.substr(below + 1), node.threshold);
      if (!node.has_threshold) fail("the threshold is not a number");
    } else if (const std::size_t list = split.rfind(":{"); list != split.npos && split.back() == '}') {
      node.feature = split.substr(0, list);
      node.has_categories = true;
      read_categories(split.substr(list + 2, split.size() - list - 3), node);
    }
    line.remove_prefix(end + 2);
    while (!line.empty()) read_setting(take_until(line, ','), node);
  }

  void read_categories(std::string_view list, XgboostDumpNode& node) const {
    while (!list.empty()) {
      std::uint32_t category = 0;
      if (!read_number(take_until(list, ','), category) || category >= 1 << 24)
        fail("a category is not a valid number");
      node.categories.push_back(category);
    }
  }

  void read_setting(std::string_view setting, XgboostDumpNode& node) const {
    const std::string_view key = take_until(setting, '=');
    std::int64_t* const to = key == "yes"       ? &node.yes
                             : key == "no"      ? &node.no
                             : key == "missing" ? &node.missing
                                                : nullptr;
    if (to && !read_number(setting, *to)) fail(fmt::format("{} is not a node number", key));
  }

  const ModelFile& file_;
  XgboostDump dump_;
  std::size_t line_ = 0;
  bool has_nodes_ = false;
};

bool is_xgboost_text_dump(std::string_view head) {
  return head.substr(0, 10) == "booster[0]" || head.substr(0, 3) == "0:[" || head.substr(0, 7) == "0:leaf=";
}

RankerModel read_xgboost_text_dump(const ModelFile& file) { return XgboostTextDumpReader(file).read(); }

/// An array of trees, each a node that contains its children.
class XgboostJsonDumpReader : public JsonEvents {
 public:
  explicit XgboostJsonDumpReader(const std::string& name) : dump_(name) {}

  void begin_object() override {
    if (lists_ == 0) dump_.fail("is not a list of trees");
    if (!nodes_.empty() && list_ != List::children) dump_.fail("has an object that is not a child of a node");
    nodes_.emplace_back();
    list_ = List::none;
    key_.clear();
  }
  void end_object() override {
    dump_.add(std::move(nodes_.back()));
    nodes_.pop_back();
    if (nodes_.empty())
      dump_.end_tree();
    else
      list_ = List::children;
    key_.clear();
  }
  void begin_array() override {
    ++lists_;
    if (lists_ == 1) return;
    if (nodes_.empty() || list_ != List::none) dump_.fail("has nested lists");
    if (key_ == "children") {
      list_ = List::children;
    } else if (key_ == "split_condition") {
      list_ = List::categories;
      nodes_.back().has_categories = true;
    } else {
      dump_.fail(fmt::format("has the list '{:.40}' in a node", key_));
    }
  }
  void end_array() override {
    --lists_;
    list_ = List::none;
    key_.clear();
  }
  void key(std::string_view name) override { key_ = name; }

  void text(std::string_view value) override {
    if (nodes_.empty() || list_ != List::none) dump_.fail("has a string where a node should be");
    if (key_ == "split") nodes_.back().feature = value;
  }

  void number(const JsonNumber& value) override {
    if (nodes_.empty() || list_ == List::children) dump_.fail("has a number where a node should be");
    XgboostDumpNode& node = nodes_.back();
    const auto get = [&](auto& to) {
      if (!value.get(to)) dump_.fail(fmt::format("node {}: {} is not a valid number", node.id, key_));
    };
    if (list_ == List::categories) {
      std::int64_t category = 0;
      get(category);
      if (category < 0 || category >= 1 << 24)
        dump_.fail(fmt::format("node {} has the invalid category {}", node.id, category));
      node.categories.push_back(static_cast<std::uint32_t>(category));
    } else if (key_ == "nodeid") {
      get(node.id);
    } else if (key_ == "yes") {
      get(node.yes);
    } else if (key_ == "no") {
      get(node.no);
    } else if (key_ == "missing") {
      get(node.missing);
    } else if (key_ == "leaf") {
      get(node.leaf);
      node.is_leaf = true;
    } else if (key_ == "split_condition") {
      get(node.threshold);
      node.has_threshold = true;
    }
  }
  void boolean(bool) override { dump_.fail("has a boolean, which dumps do not contain"); }

  RankerModel finish() { return dump_.finish(xgboost_json_dump_format.name); }

 private:
  enum class List : std::uint8_t { none, children, categories };

  XgboostDump dump_;
  std::vector<XgboostDumpNode> nodes_;  ///< path from the root to the current node
  std::size_t lists_ = 0;
  List list_ = List::none;  ///< the open list of the current node
  std::string key_;
};

bool is_xgboost_json_dump(std::string_view head) { return begins_with_tokens(head, {"[", "{", "\"nodeid\""}); }

RankerModel read_xgboost_json_dump(const ModelFile& file) {
  XgboostJsonDumpReader reader(file.name);
  read_json(file.bytes, file.name, reader);
  return reader.finish();
}

}  // namespace

const ModelFormat xgboost_text_dump_format = {"xgboost-text-dump", "XGBoost's dumps of trees as text",
                                              is_xgboost_text_dump, read_xgboost_text_dump};

const ModelFormat xgboost_json_dump_format = {"xgboost-json-dump", "XGBoost's dumps of trees in JSON",
                                              is_xgboost_json_dump, read_xgboost_json_dump};

}  // namespace quern
