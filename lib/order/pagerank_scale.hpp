#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace quern {

/// How PageRank, which sums to 1 over all documents, becomes a part of scores in [0, 1]. The greatest becomes 1. Wang
/// et al. only say that both parts of a score come into one space; which way decides how early a query may stop.
struct PagerankScale {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Replaces each rank, finite and at least 0, by its scaled value.
  void (*apply)(std::span<float> ranks) = nullptr;
};

/// All scales, in the order in which help texts show them. The one place to add one.
const std::vector<const PagerankScale*>& all_pagerank_scales();

/// Throws InvalidArgument, with the names there are, where no scale is called so.
const PagerankScale& pagerank_scale_named(std::string_view name);

}  // namespace quern
