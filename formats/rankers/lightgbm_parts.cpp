#include "quern/formats/rankers/lightgbm_parts.hpp"

#include <fmt/format.h>

namespace quern {

void check_lightgbm_head(const LightgbmHead& head, const std::string& name) {
  if (head.version != "v2" && head.version != "v3" && head.version != "v4")
    throw UnsupportedVersion(
        fmt::format("{}: is a LightGBM model of version '{:.20}', but Quern reads v2, v3 and v4; save it with "
                    "LightGBM 2.1 to 4",
                    name, head.version));
  if (head.classes > 1 || head.trees_per_iteration != 1)
    throw InvalidArgument(
        fmt::format("{}: is a LightGBM model of several classes ('{:.40}'), which don't give a single score; train a "
                    "ranker, a regression or "
                    "a binary classifier",
                    name, head.objective));
  if (!head.has_features) throw CorruptFile(name + ": is a LightGBM model without max_feature_idx");
  if (!head.names.empty() && head.names.size() != head.features)
    throw CorruptFile(fmt::format("{}: has {} feature_names for {} features", name, head.names.size(), head.features));
}

RankerModel finish_lightgbm(TreeCollector& trees, const LightgbmHead& head, std::string_view format) {
  TreeEnsemble& ensemble = trees.trees();
  ensemble.sum = TreeSum::float64;
  if (head.averages)
    for (std::uint64_t tree = 1; tree <= ensemble.trees(); ++tree) ensemble.group_ends.push_back(tree);
  return trees.finish(format, head.features);
}

}  // namespace quern
