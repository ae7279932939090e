#include "quern/lab/gpu/window_costs.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <optional>

namespace quern {
namespace {

constexpr std::size_t num_costs = 3;
using Costs = std::array<double, num_costs>;
using Chosen = std::bitset<num_costs>;

Costs terms_of(const WindowWork& work) { return {work.bytes, work.window_lists, work.windows}; }

/// A sample's terms and time, relative to its total time.
struct Row {
  Costs terms{};
  double us = 0;
};

double distance(const std::vector<Row>& rows, const Costs& costs) {
  double sum = 0;
  for (const Row& row : rows) {
    double off = row.us;
    for (std::size_t i = 0; i < num_costs; ++i) off -= costs[i] * row.terms[i];
    sum += off * off;
  }
  return sum;
}

/// Least squares with the chosen costs, the others 0, by Gaussian elimination of the normal equations. Empty if the
/// samples can't separate the costs.
std::optional<Costs> solve(const std::vector<Row>& rows, const Chosen& chosen) {
  std::array<std::array<double, num_costs + 1>, num_costs> matrix{};
  for (std::size_t i = 0; i < num_costs; ++i) {
    if (!chosen[i]) {
      matrix[i][i] = 1;
      continue;
    }
    for (const Row& row : rows) {
      for (std::size_t j = 0; j < num_costs; ++j)
        if (chosen[j]) matrix[i][j] += row.terms[i] * row.terms[j];
      matrix[i][num_costs] += row.terms[i] * row.us;
    }
  }
  constexpr double min_pivot = 1e-9;  // relative to the diagonal, so that scales cancel out
  for (std::size_t i = 0; i < num_costs; ++i) {
    const double before = matrix[i][i];
    for (std::size_t k = 0; k < i; ++k) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j <= num_costs; ++j) matrix[i][j] -= factor * matrix[k][j];
    }
    if (!(matrix[i][i] > min_pivot * before)) return std::nullopt;
  }
  Costs costs{};
  for (std::size_t i = num_costs; i-- > 0;) {
    double left = matrix[i][num_costs];
    for (std::size_t j = i + 1; j < num_costs; ++j) left -= matrix[i][j] * costs[j];
    costs[i] = left / matrix[i][i];
  }
  return costs;
}

}  // namespace

WindowCosts fit_window_costs(const std::vector<WindowSample>& samples) {
  std::vector<Row> rows;
  for (const WindowSample& sample : samples) {
    if (!(sample.all_us > 0)) continue;
    Row& row = rows.emplace_back();
    row.us = sample.us / sample.all_us;
    const Costs terms = terms_of(sample.work);
    for (std::size_t i = 0; i < num_costs; ++i) row.terms[i] = terms[i] / sample.all_us;
  }
  // The best non-negative costs are the unconstrained best of some subset, with the others 0.
  Costs best{};
  double least = distance(rows, best);
  for (unsigned long subset = 1; subset < (1u << num_costs); ++subset) {
    const std::optional<Costs> costs = solve(rows, Chosen(subset));
    if (!costs || *std::min_element(costs->begin(), costs->end()) < 0) continue;
    if (const double off = distance(rows, *costs); off < least) {
      least = off;
      best = *costs;
    }
  }
  return {best[0], best[1], best[2]};
}

}  // namespace quern
