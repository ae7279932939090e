#include "quern/query/query_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quern {

ListDepth& ListDepth::operator+=(const ListDepth& other) {
  lists += other.lists;
  postings += other.postings;
  read += other.read;
  shares += other.shares;
  return *this;
}

QueryStatistics& QueryStatistics::operator+=(const QueryStatistics& other) {
  postings += other.postings;
  postings_scored += other.postings_scored;
  blocks += other.blocks;
  blocks_decoded += other.blocks_decoded;
  stopped_early += other.stopped_early;
  stopped_at = other.stopped_at;
  for (std::size_t place = 0; place < depths.size(); ++place) depths[place] += other.depths[place];
  return *this;
}

LatencySummary summarize(std::vector<double> times_us) {
  if (times_us.empty()) return {};
  std::sort(times_us.begin(), times_us.end());
  const auto size = static_cast<double>(times_us.size());
  const auto at = [&](double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * size));
    return times_us[std::max<std::size_t>(rank, 1) - 1];
  };
  const double sum = std::accumulate(times_us.begin(), times_us.end(), 0.0);
  return {sum / size, at(0.5), at(0.9), at(0.95), at(0.99), at(0.999), times_us.back()};
}

}  // namespace quern
