#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/formats/rankers/number_text.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

/// Parts shared by LightGBM's text files and JSON dumps.
namespace quern {

/// Which values LightGBM treats as missing.
enum class LightgbmMissing : std::uint8_t { none = 0, zero = 1, nan = 2 };

constexpr TreeInputKind input_kind(LightgbmMissing missing) {
  if (missing == LightgbmMissing::zero) return TreeInputKind::zero_missing;
  return missing == LightgbmMissing::nan ? TreeInputKind::value : TreeInputKind::nan_is_zero;
}

/// A node that sends values up to `threshold` to the left.
inline void set_numeric(LooseTree::Node& node, TreeCollector& trees, std::uint32_t feature, double threshold,
                        LightgbmMissing missing, bool default_left) {
  if (std::isnan(threshold)) trees.fail("a threshold is not a number");
  node.input = trees.input(feature, input_kind(missing));
  node.threshold = greatest_float_up_to(threshold);
  node.missing_left = missing != LightgbmMissing::none && default_left;
}

/// A node that sends `categories` to the left, and all other values, including NaN, to the right.
inline void set_categories(LooseTree::Node& node, TreeCollector& trees, std::uint32_t feature,
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
void check_lightgbm_head(const LightgbmHead& head, const std::string& name);

/// Builds the model from all of the file's trees.
RankerModel finish_lightgbm(TreeCollector& trees, const LightgbmHead& head, std::string_view format);

}  // namespace quern
