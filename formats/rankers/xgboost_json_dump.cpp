#include <fmt/format.h>

#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/xgboost_dump.hpp"

namespace quern {
namespace {

/// An array of trees, each a node with its children in it.
class XgboostJsonDumpReader : public JsonEvents {
 public:
  explicit XgboostJsonDumpReader(const std::string& name) : dump_(name) {}

  void begin_object() override {
    if (lists_ == 0) dump_.fail("a dump is a list of trees");
    if (!nodes_.empty() && list_ != List::children) dump_.fail("has an object that is no child of a node");
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
    if (nodes_.empty() || list_ != List::none) dump_.fail("has a list in a list");
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
    if (nodes_.empty() || list_ != List::none) dump_.fail("has a text where a node should be");
    if (key_ == "split") nodes_.back().feature = value;
  }

  void number(const JsonNumber& value) override {
    if (nodes_.empty() || list_ == List::children) dump_.fail("has a number where a node should be");
    XgboostDumpNode& node = nodes_.back();
    const auto get = [&](auto& to) {
      if (!value.get(to)) dump_.fail(fmt::format("node {}: {} is no such number", node.id, key_));
    };
    if (list_ == List::categories) {
      std::int64_t category = 0;
      get(category);
      if (category < 0 || category >= 1 << 24)
        dump_.fail(fmt::format("a category of node {} is {}", node.id, category));
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
  void boolean(bool) override { dump_.fail("has a truth value, which dumps do not have"); }

  RankerModel finish() { return dump_.finish(xgboost_json_dump_format().name); }

 private:
  enum class List : std::uint8_t { none, children, categories };

  XgboostDump dump_;
  std::vector<XgboostDumpNode> nodes_;  ///< from the root of the tree at hand to the node at hand
  std::size_t lists_ = 0;
  List list_ = List::none;  ///< the list at hand, in the node at hand
  std::string key_;
};

bool is_xgboost_json_dump(std::string_view head) {
  for (const std::string_view token : {"[", "{", "\"nodeid\""}) {
    head = trim(head);
    if (head.substr(0, token.size()) != token) return false;
    head.remove_prefix(token.size());
  }
  return true;
}

RankerModel read_xgboost_json_dump(const ModelFile& file) {
  XgboostJsonDumpReader reader(file.name);
  read_json(file.bytes, file.name, reader);
  return reader.finish();
}

}  // namespace

const ModelFormat& xgboost_json_dump_format() {
  static const ModelFormat format = {"xgboost-json-dump", "XGBoost's dumps of trees in JSON", is_xgboost_json_dump,
                                     read_xgboost_json_dump};
  return format;
}

}  // namespace quern
