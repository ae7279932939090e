#include "quern/lab/synth/synth_ranker.hpp"

#include <cmath>
#include <queue>

#include "quern/core/natural_log.hpp"
#include "quern/core/random.hpp"
#include "quern/lab/synth/list_generator.hpp"

namespace quern {
namespace {

/// Quantiles at which trees may split a feature.
constexpr std::uint32_t quantiles = 256;

/// The u-quantile of a feature, u in (0, 1).
float feature_value(std::uint32_t feature, double u) {
  const double logit = natural_log(u / (1 - u));
  switch (feature % 4) {
    case 0:  // counts
      return static_cast<float>(std::floor(exponential(0.6 * logit + 1)));
    case 1:  // long-tailed
      return static_cast<float>(exponential(1.2 * logit));
    case 2:  // few integers
      return static_cast<float>(std::floor(21 * u) - 10);
    default:
      return static_cast<float>(logit);
  }
}

/// A subset of the documents: a range of quantiles for each feature.
struct Region {
  struct Limits {
    std::uint32_t feature, low, high;
  };
  std::vector<Limits> limits;

  Limits of(std::uint32_t feature) const {
    for (const Limits& known : limits)
      if (known.feature == feature) return known;
    return {feature, 0, quantiles};
  }

  Region with(const Limits& changed) const {
    Region narrower = *this;
    for (Limits& known : narrower.limits) {
      if (known.feature != changed.feature) continue;
      known = changed;
      return narrower;
    }
    narrower.limits.push_back(changed);
    return narrower;
  }
};

/// A leaf that may become a node.
struct OpenLeaf {
  double gain = 0;   ///< leaves with the highest gain are split first
  double share = 1;  ///< of the documents
  Region region;
  std::int64_t parent = -1;  ///< node, or -1
  bool right = false;

  bool operator<(const OpenLeaf& other) const { return gain < other.gain; }
};

/// Grows trees one after the other.
class TreeGrower {
 public:
  TreeGrower(const SynthRankerOptions& options, TreeEnsemble& trees)
      : options_(options), trees_(trees), random_(options.seed) {
    for (std::uint32_t feature = 0; feature < options.features; ++feature)
      trees_.inputs.push_back({feature, TreeInputKind::value, {}});
  }

  void grow() {
    nodes_.clear();
    std::priority_queue<OpenLeaf> open;
    open.push({});
    while (open.size() < options_.leaves) {
      const OpenLeaf leaf = open.top();
      open.pop();
      split(leaf, open);
    }
    number_leaves();
    trees_.nodes.insert(trees_.nodes.end(), nodes_.begin(), nodes_.end());
    for (std::uint32_t leaf = 0; leaf < options_.leaves; ++leaf) trees_.leaves.push_back(0.1 * (random_.unit() - 0.5));
    trees_.first_node.push_back(trees_.nodes.size());
    trees_.first_leaf.push_back(trees_.leaves.size());
  }

 private:
  /// A random feature with several quantiles in the region; any feature after some trials.
  Region::Limits choose_feature(const Region& region) {
    Region::Limits limits = {};
    for (unsigned trial = 0; trial < 20; ++trial) {
      limits = region.of(static_cast<std::uint32_t>(random_.below(options_.features)));
      if (limits.high - limits.low >= 2) break;
    }
    return limits;
  }

  void split(const OpenLeaf& leaf, std::priority_queue<OpenLeaf>& open) {
    const Region::Limits limits = choose_feature(leaf.region);
    const std::uint32_t width = limits.high - limits.low;
    const std::uint32_t cut = limits.low + (width < 2 ? 0 : 1 + static_cast<std::uint32_t>(random_.below(width - 1)));
    const auto node = static_cast<std::int64_t>(nodes_.size());
    if (leaf.parent >= 0) child(leaf.parent, leaf.right) = static_cast<std::int32_t>(node);
    TreeNode made;
    made.input = limits.feature;
    made.threshold = feature_value(limits.feature, std::clamp(cut, 1u, quantiles - 1) / static_cast<double>(quantiles));
    made.missing_left = random_.below(2) == 0;
    nodes_.push_back(made);
    const double left_share = static_cast<double>(cut - limits.low) / static_cast<double>(width);
    for (const bool right : {false, true}) {
      OpenLeaf next;
      next.share = leaf.share * (right ? 1 - left_share : left_share);
      next.gain = next.share * random_.unit();
      next.region = leaf.region.with(right ? Region::Limits{limits.feature, cut, limits.high}
                                           : Region::Limits{limits.feature, limits.low, cut});
      next.parent = node;
      next.right = right;
      open.push(std::move(next));
    }
  }

  std::int32_t& child(std::int64_t node, bool right) {
    TreeNode& parent = nodes_[static_cast<std::size_t>(node)];
    return right ? parent.right : parent.left;
  }

  /// Numbers the leaves, i.e. children that aren't nodes, from left to right.
  void number_leaves() {
    std::int32_t next = 0;
    std::vector<std::pair<std::int64_t, bool>> way;
    if (!nodes_.empty()) way = {{0, true}, {0, false}};
    while (!way.empty()) {
      const auto [node, right] = way.back();
      way.pop_back();
      std::int32_t& here = child(node, right);
      // Nodes start with -1 for both children, and node 0 is no node's child.
      if (here < 0)
        here = -(next++) - 1;
      else
        way.insert(way.end(), {{here, true}, {here, false}});
    }
  }

  const SynthRankerOptions& options_;
  TreeEnsemble& trees_;
  RandomBits random_;
  std::vector<TreeNode> nodes_;  ///< of the current tree
};

void check_options(const SynthRankerOptions& options) {
  check_range("features", options.features, 1, 1u << 20);
  check_range("leaves", options.leaves, 1, 1u << 20);
  check_range("hidden", options.hidden, 1, 1u << 16);
}

RankerModel synthetic_model(const SynthRankerOptions& options) {
  RankerModel model;
  model.format = "synthetic";
  for (std::uint32_t feature = 0; feature < options.features; ++feature)
    model.features.push_back({"f" + std::to_string(feature + 1), feature + 1});
  return model;
}

TreeEnsemble grow_trees(std::uint32_t count, const SynthRankerOptions& options) {
  TreeEnsemble trees;
  TreeGrower grower(options, trees);
  for (std::uint32_t tree = 0; tree < count; ++tree) grower.grow();
  return trees;
}

/// In (-0.5, 0.5).
float random_weight(RandomBits& random) { return static_cast<float>(random.unit() - 0.5); }

Transformation make_transformation(TransformationKind kind, std::uint32_t feature, RandomBits& random) {
  Transformation made;
  made.kind = kind;
  made.feature = feature;
  made.p1 = random_weight(random);
  made.p2 = random_weight(random);
  if (kind != TransformationKind::bucket) return made;
  const double low = 0.05 + 0.9 * random.unit(), high = low + (0.99 - low) * random.unit();
  made.p1 = feature_value(feature, low);
  made.p2 = feature_value(feature, high);
  return made;
}

DenseLayer make_layer(std::uint32_t inputs, std::uint32_t outputs, RandomBits& random) {
  DenseLayer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  for (std::uint64_t i = 0; i < std::uint64_t{inputs} * outputs; ++i) layer.weights.push_back(random_weight(random));
  for (std::uint32_t i = 0; i < outputs; ++i) layer.bias.push_back(random_weight(random));
  return layer;
}

}  // namespace

RankerModel synth_trees(std::uint32_t trees, const SynthRankerOptions& options) {
  check_options(options);
  RankerModel model = synthetic_model(options);
  model.function = grow_trees(trees, options);
  return model;
}

RankerModel synth_ranker(const SynthRankerShape& shape, const SynthRankerOptions& options) {
  check_options(options);
  RankerModel model = synthetic_model(options);
  RandomBits random(mix_bits(options.seed));
  NetworkModel network;
  const auto add = [&](TransformationKind kind, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto feature = static_cast<std::uint32_t>(network.transformations.size() % options.features);
      network.transformations.push_back(make_transformation(kind, feature, random));
    }
  };
  add(TransformationKind::bucket, shape.buckets);
  add(TransformationKind::linear, shape.linear);
  add(TransformationKind::log_linear, shape.log_linear);
  network.trees = grow_trees(shape.trees, options);
  auto inputs = static_cast<std::uint32_t>(network.transformations.size() + shape.trees);
  for (std::uint32_t layer = 1; layer < shape.layers; ++layer) {
    network.layers.push_back(make_layer(inputs, options.hidden, random));
    network.layers.back().activation = Activation::relu;
    inputs = options.hidden;
  }
  network.layers.push_back(make_layer(inputs, 1, random));
  model.function = std::move(network);
  return model;
}

SynthFeatures::SynthFeatures(std::uint32_t features, std::size_t documents, std::uint64_t seed)
    : documents_(documents),
      stride_((documents + FeatureColumns::documents_per_group - 1) / FeatureColumns::documents_per_group *
              FeatureColumns::documents_per_group),
      values_(features * stride_) {
  for (std::uint32_t feature = 0; feature < features; ++feature)
    for (std::size_t d = 0; d < documents; ++d) {
      const std::uint64_t bits = noise_bits(mix_bits(seed + feature), d);
      values_[feature * stride_ + d] = feature_value(feature, (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52);
    }
}

}  // namespace quern
