#include "quern/search/query_statistics.hpp"

#include <bit>
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
  bound_left = std::max(bound_left, other.bound_left);
  if (other.depths.front().lists == 0) return *this;
  for (std::size_t place = 0; place < depths.size(); ++place) depths[place] += other.depths[place];
  return *this;
}

QueryStatistics without_repeats(QueryStatistics query) {
  query.postings_scored = std::min(query.postings_scored, query.postings);
  query.blocks_decoded = std::min(query.blocks_decoded, query.blocks);
  return query;
}

namespace {

/// at_rank(r) is the r-th time in ascending order.
template <class AtRank>
LatencySummary summary_of(std::uint64_t count, double sum_us, AtRank&& at_rank) {
  const auto size = static_cast<double>(count);
  const auto at = [&](double share) {
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * size));
    return at_rank(std::max<std::uint64_t>(rank, 1) - 1);
  };
  return {sum_us / size, at(0.5), at(0.9), at(0.95), at(0.99), at(0.999), at_rank(count - 1)};
}

}  // namespace

LatencySummary summarize(std::vector<double> times_us) {
  if (times_us.empty()) return {};
  std::sort(times_us.begin(), times_us.end());
  const double sum = std::accumulate(times_us.begin(), times_us.end(), 0.0);
  return summary_of(times_us.size(), sum, [&](std::uint64_t rank) { return times_us[rank]; });
}

void LatencyLog::add(double time_us) {
  times_.add(time_us);
  sum_us_ += time_us;
}

LatencySummary LatencyLog::summary() const {
  constexpr std::uint64_t max_sorted = 1 << 20;
  if (count() == 0) return {};
  if (count() > max_sorted) return summary_of(count(), sum_us_, [&](std::uint64_t rank) { return at_rank(rank); });
  std::vector<double> times(count());
  times_.read(0, times);
  return summarize(std::move(times));
}

/// A radix selection, sixteen bits at a time from the highest: non-negative doubles sort like their bits.
double LatencyLog::at_rank(std::uint64_t rank) const {
  constexpr unsigned digit_bits = 16;
  std::uint64_t prefix = 0;
  for (unsigned known = 0; known < 64; known += digit_bits) {
    const unsigned shift = 64 - known - digit_bits;
    std::vector<std::uint64_t> counts(std::size_t{1} << digit_bits);
    times_.for_each([&](double time) {
      const auto bits = std::bit_cast<std::uint64_t>(time);
      if (known == 0 || bits >> (shift + digit_bits) == prefix) ++counts[bits >> shift & (counts.size() - 1)];
    });
    std::uint64_t digit = 0;
    while (rank >= counts[digit]) rank -= counts[digit++];
    prefix = prefix << digit_bits | digit;
  }
  return std::bit_cast<double>(prefix);
}

}  // namespace quern
