#include "quern/lab/rerank_queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "quern/core/error.hpp"

namespace quern {

RerankQueries::RerankQueries(const FeatureColumns& features, std::size_t documents)
    : features_(features), documents_(documents), count_(std::clamp<std::size_t>(4000 / documents, 1, 200)) {}

void RerankQueries::for_each(const std::function<void(const FeatureColumns&)>& what) {
  constexpr std::size_t unit = FeatureColumns::documents_per_group;
  const std::size_t step = (documents_ + unit - 1) / unit * unit;
  for (std::size_t query = 0; query < count_; ++query) {
    if (first_ + documents_ > features_.documents) first_ = 0;
    what({features_.values + first_, documents_, features_.stride});
    first_ += step;
  }
}

void check_scores(const std::string& name, const FeatureColumns& features, const ScoreDocuments& expected,
                  const ScoreDocuments& score) {
  std::vector<double> right(features.documents), found(features.documents);
  expected(features, right);
  score(features, found);
  for (std::size_t d = 0; d < features.documents; ++d)
    if (std::bit_cast<std::uint64_t>(right[d]) != std::bit_cast<std::uint64_t>(found[d]))
      throw Error(fmt::format("{} gives document {} the score {} instead of {}; nothing was measured", name, d,
                              found[d], right[d]));
}

double largest_difference(const FeatureColumns& features, const ScoreDocuments& expected, const ScoreDocuments& score) {
  std::vector<double> right(features.documents), found(features.documents);
  expected(features, right);
  score(features, found);
  double difference = 0, size = 0;
  for (std::size_t d = 0; d < features.documents; ++d) {
    difference = std::max(difference, std::fabs(found[d] - right[d]));
    size = std::max(size, std::fabs(right[d]));
  }
  return size == 0 ? difference : difference / size;
}

}  // namespace quern
