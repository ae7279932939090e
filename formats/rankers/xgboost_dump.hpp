#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {

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

}  // namespace quern
