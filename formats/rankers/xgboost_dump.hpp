#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {

/// A node of one of XGBoost's dumps, which number nodes as they like.
struct XgboostDumpNode {
  std::int64_t id = -1;
  bool is_leaf = false;
  float leaf = 0;
  std::string feature;
  bool has_threshold = false, has_categories = false;
  float threshold = 0;                    ///< what is below it goes to `yes`
  std::vector<std::uint32_t> categories;  ///< what is one of them goes to `yes`
  std::int64_t yes = -1, no = -1, missing = -1;
};

/// The nodes of a dump's trees, one tree after another.
class XgboostDump {
 public:
  explicit XgboostDump(const std::string& name) : trees_(name) {}

  void add(XgboostDumpNode node);
  /// Ends a tree, whose root is the node 0.
  void end_tree();
  RankerModel finish(std::string_view format);
  [[noreturn]] void fail(std::string_view why) const { trees_.fail(why); }
  std::uint64_t trees() const { return trees_.trees().trees(); }

 private:
  std::int64_t place_of(std::int64_t id) const;

  LooseTree loose_;                                       ///< its nodes' children are ids until the tree ends
  std::unordered_map<std::int64_t, std::size_t> places_;  ///< in loose_, by id
  TreeCollector trees_;
};

}  // namespace quern
