#include "quern/formats/rankers/xgboost_dump.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/number_text.hpp"

namespace quern {

void XgboostDump::add(XgboostDumpNode node) {
  if (node.id < 0) fail("a node has no number");
  if (!places_.try_emplace(node.id, loose_.nodes.size()).second) fail(fmt::format("node {} is there twice", node.id));
  LooseTree::Node made;
  if (node.is_leaf) {
    made.leaf = node.leaf;
  } else {
    if (node.feature.empty() || node.yes < 0 || node.no < 0)
      fail(fmt::format("node {} lacks a feature, or yes and no", node.id));
    if (node.has_threshold == node.has_categories)
      fail(fmt::format(
          "node {} has neither a threshold nor categories; features of the type i (indicators) are not read", node.id));
    if (node.missing >= 0 && node.missing != node.yes && node.missing != node.no)
      fail(fmt::format("what is missing in node {} goes to {}, which is no child of it", node.id, node.missing));
    const std::uint32_t feature = trees_.features().by_name(node.feature);
    made.left = node.yes;
    made.right = node.no;
    made.missing_left = node.missing == node.yes;
    if (node.has_categories) {
      made.input = trees_.categories_input(feature, std::move(node.categories));
    } else {
      if (std::isnan(node.threshold) || node.threshold == -std::numeric_limits<float>::infinity())
        fail(fmt::format("nothing is below the threshold of node {}", node.id));
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
    throw CorruptFile(fmt::format("{}: tree {}: node 0 does not reach all nodes", trees_.name(), trees() - 1));
  loose_.nodes.clear();
  // Not clear(), which takes the time of the largest tree so far.
  places_ = {};
}

RankerModel XgboostDump::finish(std::string_view format) {
  if (trees() == 0) throw CorruptFile(trees_.name() + ": has no trees");
  trees_.trees().sum = TreeSum::float32;
  return trees_.finish(format);
}

}  // namespace quern
