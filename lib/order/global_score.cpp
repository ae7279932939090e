#include "quern/order/global_score.hpp"

#include <cmath>
#include <limits>

namespace quern {

float global_score_bound(float pagerank, float best_impact, std::uint32_t terms, double alpha) {
  const double score = alpha * static_cast<double>(pagerank) + (1 - alpha) * static_cast<double>(best_impact);
  const double slack = 1.0 + (static_cast<double>(terms) + 4.0) * 0x1p-23;
  return std::nextafter(static_cast<float>(score * slack), std::numeric_limits<float>::max());
}

}  // namespace quern
