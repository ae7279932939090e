#include <cmath>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/plan/cost_model.hpp"

#include "catch.hpp"

/// Model trees recover functions that they can express, and don't overfit.
namespace quern {
namespace {

CostInput random_input(RandomBits& random) {
  CostInput input;
  for (double& x : input) x = 20 * random.unit();
  return input;
}

template <class Function>
std::vector<TreeSample> samples_of(std::size_t count, std::uint64_t seed, const Function& function) {
  RandomBits random(seed);
  std::vector<TreeSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    TreeSample& sample = samples.emplace_back();
    sample.input = random_input(random);
    sample.target = function(sample.input, random);
  }
  return samples;
}

double mean_error(const ModelTree& tree, const std::vector<TreeSample>& samples) {
  double sum = 0;
  for (const TreeSample& sample : samples) sum += std::abs(tree.at(sample.input) - sample.target);
  return sum / static_cast<double>(samples.size());
}

std::vector<const TreeSample*> pointers(const std::vector<TreeSample>& samples) {
  std::vector<const TreeSample*> all;
  for (const TreeSample& sample : samples) all.push_back(&sample);
  return all;
}

}  // namespace

TEST_CASE("a linear function is one leaf without unused inputs", "[schedule]") {
  const auto function = [](const CostInput& x, RandomBits&) { return 3 + 2 * x[1] - 0.5 * x[3]; };
  const std::vector<TreeSample> samples = samples_of(500, 1, function);
  const FittedModel fitted = fit_linear(pointers(samples));
  CHECK(fitted.model.constant == Approx(3).margin(1e-3));
  CHECK(fitted.model.weights[1] == Approx(2).margin(1e-4));
  CHECK(fitted.model.weights[3] == Approx(-0.5).margin(1e-4));
  CHECK(fitted.error < 1e-3);
  const ModelTree tree = fit_model_tree(samples);
  CHECK(mean_error(tree, samples_of(500, 2, function)) < 1e-2);
}

TEST_CASE("irrelevant inputs are omitted from noisy models", "[schedule]") {
  const std::vector<TreeSample> samples =
      samples_of(40, 3, [](const CostInput&, RandomBits& random) { return 5 + random.unit(); });
  const FittedModel fitted = fit_linear(pointers(samples));
  std::size_t used = 0;
  for (const double weight : fitted.model.weights) used += weight != 0;
  CHECK(used < cost_inputs.size());
  CHECK(fit_model_tree(samples).nodes.size() <= 3);
}

TEST_CASE("inputs that depend on each other have finite weights", "[schedule]") {
  std::vector<TreeSample> samples = samples_of(200, 4, [](const CostInput& x, RandomBits&) { return x[0]; });
  for (TreeSample& sample : samples) sample.input[1] = sample.input[2] = sample.input[0], sample.input[4] = 0;
  const ModelTree tree = fit_model_tree(samples);
  for (const TreeSample& sample : samples) CHECK(tree.at(sample.input) == Approx(sample.target).margin(0.05));
}

TEST_CASE("piecewise linear functions are split where the pieces meet", "[schedule]") {
  const auto function = [](const CostInput& x, RandomBits&) {
    if (x[2] > 12) return 30 - x[1];
    return x[0] > 5 ? 2 * x[3] : x[4] - 10;
  };
  const std::vector<TreeSample> samples = samples_of(4000, 5, function), others = samples_of(2000, 6, function);
  const ModelTree tree = fit_model_tree(samples);
  CHECK(tree.nodes.size() >= 5);
  CHECK(mean_error(tree, others) < 0.5);
  // A single model can't.
  const LinearCost one = fit_linear(pointers(samples)).model;
  double sum = 0;
  for (const TreeSample& sample : others) sum += std::abs(one.at(sample.input) - sample.target);
  CHECK(sum / static_cast<double>(others.size()) > 3);
}

TEST_CASE("predictions stay near a leaf's samples", "[schedule]") {
  const std::vector<TreeSample> samples = samples_of(300, 7, [](const CostInput& x, RandomBits&) { return x[0]; });
  const ModelTree tree = fit_model_tree(samples);
  CHECK(tree.at({1e6, 0, 0, 0, 0}) <= 21);
  CHECK(tree.at({-1e6, 0, 0, 0, 0}) >= -1);
}

TEST_CASE("few samples and equal samples give a tree", "[schedule]") {
  CHECK_THROWS_AS(fit_model_tree({}), InvalidArgument);
  const TreeSample one{{1, 2, 3, 4, 5}, 7};
  CHECK(fit_model_tree(std::vector<TreeSample>(1, one)).at(one.input) == Approx(7));
  const ModelTree tree = fit_model_tree(std::vector<TreeSample>(100, one));
  CHECK(tree.nodes.size() == 1);
  CHECK(tree.at({9, 9, 9, 9, 9}) == Approx(7));
}

TEST_CASE("trees are complete, and the same for the same samples", "[schedule]") {
  for (std::uint64_t seed = 10; seed < 40; ++seed) {
    RandomBits choice(seed);
    const std::size_t count = 1 + choice.below(400);
    const auto function = [&](const CostInput& x, RandomBits& random) {
      return std::floor(x[seed % 5]) * (x[0] > 3 ? 2 : -1) + random.unit();
    };
    const std::vector<TreeSample> samples = samples_of(count, seed, function);
    const ModelTree tree = fit_model_tree(samples), again = fit_model_tree(samples);
    REQUIRE(tree.nodes.size() == again.nodes.size());
    std::vector<unsigned> reached(tree.nodes.size());
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const ModelTreeNode& node = tree.nodes[i];
      if (node.is_leaf()) {
        CHECK(node.lowest <= node.highest);
        continue;
      }
      REQUIRE(node.left > i);
      REQUIRE(node.right > i);
      REQUIRE(std::max(node.left, node.right) < tree.nodes.size());
      ++reached[node.left], ++reached[node.right];
    }
    for (std::size_t i = 1; i < reached.size(); ++i) CHECK(reached[i] == 1);
    for (const TreeSample& sample : samples) CHECK(tree.at(sample.input) == again.at(sample.input));
  }
}

}  // namespace quern
