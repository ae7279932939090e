#include <cmath>
#include <limits>

#include "quern/plan/cost_model.hpp"

namespace quern {
namespace {

using Samples = std::span<const TreeSample*>;

/// Minimum number of samples to split: leaves have up to six parameters.
constexpr std::size_t min_samples = 16;
/// Samples are not split if their targets' deviation is below this share of all targets' deviation (Wang and Witten).
constexpr double min_deviation = 0.05;
/// The weight, in samples, of a node's model when it smooths its children (Quinlan).
constexpr double smoothing = 15;
/// Leaves predict at most this much beyond their training targets: a factor of two, since targets are binary
/// logarithms.
constexpr double max_beyond = 1;

/// A node of the growing tree.
struct GrowingNode {
  std::size_t samples = 0;
  FittedModel fitted;
  double lowest = 0, highest = 0;
  std::size_t input = 0;
  double threshold = 0;
  std::unique_ptr<GrowingNode> left, right;
};

double deviation(double sum, double squares, double count) {
  return std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
}

double deviation_of(Samples samples) {
  double sum = 0, squares = 0;
  for (const TreeSample* sample : samples) sum += sample->target, squares += sample->target * sample->target;
  return deviation(sum, squares, static_cast<double>(samples.size()));
}

struct Split {
  std::size_t input = 0;
  double threshold = 0;
  double left_over = 0;  ///< sum of both sides' deviations, each times its number of samples
};

/// The best split of the samples, which are sorted by the input.
std::optional<Split> best_split(Samples samples, std::size_t input) {
  double all = 0, all_squares = 0;
  for (const TreeSample* sample : samples) all += sample->target, all_squares += sample->target * sample->target;
  std::optional<Split> best;
  double sum = 0, squares = 0;
  for (std::size_t count = 1; count + min_samples <= samples.size(); ++count) {
    const double target = samples[count - 1]->target;
    sum += target;
    squares += target * target;
    const double x = samples[count - 1]->input[input], next = samples[count]->input[input];
    if (count < min_samples || x == next) continue;
    const auto left = static_cast<double>(count), right = static_cast<double>(samples.size() - count);
    const double left_over =
        left * deviation(sum, squares, left) + right * deviation(all - sum, all_squares - squares, right);
    if (!best || left_over < best->left_over) best = Split{input, x + (next - x) / 2, left_over};
  }
  return best;
}

std::optional<Split> best_split(Samples samples) {
  std::optional<Split> best;
  for (std::size_t input = 0; input < cost_inputs.size(); ++input) {
    std::stable_sort(samples.begin(), samples.end(),
                     [input](const TreeSample* a, const TreeSample* b) { return a->input[input] < b->input[input]; });
    const std::optional<Split> found = best_split(samples, input);
    if (found && (!best || found->left_over < best->left_over)) best = found;
  }
  return best;
}

/// Grows a node, and prunes its children if its own model is at least as good. Returns the subtree's error. Sorts the
/// samples.
double grow(GrowingNode& node, Samples samples, double least) {
  node.samples = samples.size();
  node.fitted = fit_linear(samples);
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end(),
                                               [](const auto* a, const auto* b) { return a->target < b->target; });
  node.lowest = (*low)->target - max_beyond;
  node.highest = (*high)->target + max_beyond;
  if (samples.size() < 2 * min_samples || deviation_of(samples) < least) return node.fitted.error;
  const std::optional<Split> split = best_split(samples);
  if (!split) return node.fitted.error;
  node.input = split->input;
  node.threshold = split->threshold;
  const auto middle = std::partition(samples.begin(), samples.end(), [&](const TreeSample* sample) {
    return sample->input[split->input] <= split->threshold;
  });
  const auto count = static_cast<std::size_t>(middle - samples.begin());
  node.left = std::make_unique<GrowingNode>();
  node.right = std::make_unique<GrowingNode>();
  const double below =
      (static_cast<double>(count) * grow(*node.left, samples.first(count), least) +
       static_cast<double>(samples.size() - count) * grow(*node.right, samples.subspan(count), least)) /
      static_cast<double>(samples.size());
  if (below < node.fitted.error) return below;
  node.left.reset();
  node.right.reset();
  return node.fitted.error;
}

/// Moves a model towards its parent's: (n p + k q) / (n + k).
LinearCost smoothed(const LinearCost& model, std::size_t samples, const LinearCost& above) {
  const double share = smoothing / (static_cast<double>(samples) + smoothing);
  LinearCost mixed;
  for (std::size_t i = 0; i < cost_inputs.size(); ++i)
    mixed.weights[i] = (1 - share) * model.weights[i] + share * above.weights[i];
  mixed.constant = (1 - share) * model.constant + share * above.constant;
  return mixed;
}

/// Appends a subtree. `path`: its ancestors, root first. Returns the node's index.
std::uint32_t append(ModelTree& tree, const GrowingNode& node, std::vector<const GrowingNode*>& path) {
  const auto place = static_cast<std::uint32_t>(tree.nodes.size());
  tree.nodes.emplace_back();
  path.push_back(&node);
  if (node.left) {
    const std::uint32_t left = append(tree, *node.left, path), right = append(tree, *node.right, path);
    ModelTreeNode& inner = tree.nodes[place];
    inner.input = node.input;
    inner.threshold = node.threshold;
    inner.left = left;
    inner.right = right;
  } else {
    ModelTreeNode& leaf = tree.nodes[place];
    leaf.model = node.fitted.model;
    leaf.lowest = node.lowest;
    leaf.highest = node.highest;
    // A combination of linear models is linear, so that leaves can be smoothed in advance.
    for (std::size_t i = path.size() - 1; i-- > 0;)
      leaf.model = smoothed(leaf.model, path[i + 1]->samples, path[i]->fitted.model);
  }
  path.pop_back();
  return place;
}

constexpr std::size_t num_inputs = cost_inputs.size();

/// Sums of products of the samples' inputs, 1 and target: enough to fit a model of any subset of the inputs. Inputs and
/// targets are relative to their means, which keeps the sums accurate.
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

  /// Least squares with these inputs. Dependent inputs still get finite weights.
  LinearCost solve(const std::vector<std::size_t>& inputs) const {
    const std::size_t n = inputs.size();
    std::vector<std::vector<double>> lower(n, std::vector<double>(n));
    std::vector<double> x(n);
    // Cholesky decomposition.
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

ModelTree fit_model_tree(std::span<const TreeSample> samples) {
  if (samples.empty()) throw InvalidArgument("a model tree needs samples");
  std::vector<const TreeSample*> all;
  all.reserve(samples.size());
  for (const TreeSample& sample : samples) all.push_back(&sample);
  GrowingNode root;
  grow(root, all, min_deviation * deviation_of(all));
  ModelTree tree;
  std::vector<const GrowingNode*> path;
  append(tree, root, path);
  return tree;
}

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
