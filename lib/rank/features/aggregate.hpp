#pragma once
#include <cstdint>

namespace quern {

/// Aggregates of a number x of each of the query's terms, in their order: sum, least, greatest, mean, variance (the
/// mean of (x - mean)²). All are 0 without terms. term_value(i) gives x of term i.
template <class TermValue>
constexpr void publish_aggregates(std::uint32_t num_terms, TermValue&& term_value, double* values) {
  double sum = 0, least = 0, greatest = 0, mean = 0, variance = 0;
  for (std::uint32_t i = 0; i < num_terms; ++i) {
    const double x = term_value(i);
    sum += x;
    if (i == 0 || x < least) least = x;
    if (i == 0 || x > greatest) greatest = x;
  }
  if (num_terms > 0) {
    mean = sum / num_terms;
    for (std::uint32_t i = 0; i < num_terms; ++i) {
      const double difference = term_value(i) - mean;
      variance += difference * difference;
    }
    variance = variance / num_terms;
  }
  values[0] = sum;
  values[1] = least;
  values[2] = greatest;
  values[3] = mean;
  values[4] = variance;
}

}  // namespace quern
