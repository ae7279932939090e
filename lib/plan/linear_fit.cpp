#include "quern/plan/linear_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quern {
namespace {

constexpr std::size_t num_inputs = cost_inputs.size();

/// Sums of products of the samples' inputs, 1 and target, from which a model of any of the inputs follows. Inputs and
/// targets are taken relative to their means, which keeps the sums exact enough.
class Products {
 public:
  explicit Products(std::span<const TreeSample* const> samples) : count_(static_cast<double>(samples.size())) {
    for (const TreeSample* sample : samples) {
      for (std::size_t i = 0; i < num_inputs; ++i) means_[i] += sample->input[i] / count_;
      mean_target_ += sample->target / count_;
    }
    for (const TreeSample* sample : samples) {
      for (std::size_t i = 0; i < num_inputs; ++i) {
        const double x = sample->input[i] - means_[i];
        for (std::size_t j = 0; j <= i; ++j) products_[i][j] += x * (sample->input[j] - means_[j]);
        with_target_[i] += x * (sample->target - mean_target_);
      }
    }
  }

  /// Least squares with these inputs. Inputs that depend on each other get finite weights all the same.
  LinearCost solve(const std::vector<std::size_t>& inputs) const {
    const std::size_t n = inputs.size();
    std::vector<std::vector<double>> lower(n, std::vector<double>(n));
    std::vector<double> x(n);
    // Cholesky's decomposition.
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = product(inputs[i], inputs[j]);
        if (i == j) sum += ridge * (sum + 1);
        for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
        lower[i][j] = i == j ? std::sqrt(std::max(sum, smallest)) : sum / lower[j][j];
      }
      x[i] = with_target_[inputs[i]];
      for (std::size_t k = 0; k < i; ++k) x[i] -= lower[i][k] * x[k];
      x[i] /= lower[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= lower[k][i] * x[k];
      x[i] /= lower[i][i];
    }
    LinearCost model;
    model.constant = mean_target_;
    for (std::size_t i = 0; i < n; ++i) {
      model.weights[inputs[i]] = x[i];
      model.constant -= x[i] * means_[inputs[i]];
    }
    return model;
  }

 private:
  static constexpr double ridge = 1e-6, smallest = 1e-12;

  double product(std::size_t i, std::size_t j) const { return i < j ? products_[j][i] : products_[i][j]; }

  double count_;
  CostInput means_ = {};
  double mean_target_ = 0;
  std::array<CostInput, num_inputs> products_ = {};
  CostInput with_target_ = {};
};

double error_of(const LinearCost& model, std::span<const TreeSample* const> samples, std::size_t parameters) {
  double sum = 0;
  for (const TreeSample* sample : samples) sum += std::abs(sample->target - model.at(sample->input));
  const auto n = static_cast<double>(samples.size()), v = static_cast<double>(parameters);
  return n > v ? sum / n * (n + v) / (n - v) : std::numeric_limits<double>::infinity();
}

}  // namespace

FittedModel fit_linear(std::span<const TreeSample* const> samples) {
  const Products products(samples);
  const auto fit = [&](const std::vector<std::size_t>& inputs) {
    const LinearCost model = products.solve(inputs);
    return FittedModel{model, error_of(model, samples, inputs.size() + 1)};
  };
  std::vector<std::size_t> inputs(num_inputs);
  for (std::size_t i = 0; i < num_inputs; ++i) inputs[i] = i;
  FittedModel best = fit(inputs);
  for (bool better = true; better && !inputs.empty();) {
    better = false;
    std::vector<std::size_t> fewer;
    for (std::size_t left_out = 0; left_out < inputs.size(); ++left_out) {
      std::vector<std::size_t> others = inputs;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
      const FittedModel found = fit(others);
      if (found.error > best.error || (better && found.error == best.error)) continue;
      best = found;
      fewer = others;
      better = true;
    }
    if (better) inputs = fewer;
  }
  return best;
}

}  // namespace quern
