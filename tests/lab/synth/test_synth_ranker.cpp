#include <algorithm>
#include <cmath>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/lab/synth/synth_ranker.hpp"
#include "quern/rank/models/ranker.hpp"

#include "catch.hpp"

namespace quern {
namespace {

std::vector<double> synthetic_scores(const RankerModel& model, const SynthFeatures& features) {
  std::vector<double> scores(features.columns().documents);
  make_plain_ranker(model)->score(features.columns(), scores);
  return scores;
}

}  // namespace

TEST_CASE("synthetic rankers have the inputs of the rankers in the thesis", "[synth][ranker]") {
  for (const SynthRankerShape& shape : all_synth_rankers) {
    INFO(shape.name);
    SynthRankerOptions options;
    options.leaves = 8;
    options.hidden = 5;
    const RankerModel model = synth_ranker(shape, options);
    CHECK(model.features.size() == 136);
    const auto& network = std::get<NetworkModel>(model.function);
    const auto count = [&](TransformationKind kind) {
      return std::count_if(network.transformations.begin(), network.transformations.end(),
                           [&](const Transformation& one) { return one.kind == kind; });
    };
    CHECK(count(TransformationKind::bucket) == shape.buckets);
    CHECK(count(TransformationKind::linear) == shape.linear);
    CHECK(count(TransformationKind::log_linear) == shape.log_linear);
    CHECK(network.trees.trees() == shape.trees);
    CHECK(network.trees.leaves.size() == 8 * shape.trees);
    REQUIRE(network.layers.size() == shape.layers);
    CHECK(network.layers.front().outputs == (shape.layers == 1 ? 1 : 5));
    // Rankers check models.
    CHECK_NOTHROW(make_ranker(model));
  }
  CHECK(all_synth_rankers[0].buckets + all_synth_rankers[0].linear + all_synth_rankers[0].log_linear == 125);
}

TEST_CASE("synthetic trees have their leaves, and send documents to most of them", "[synth][ranker]") {
  const SynthFeatures features(20, 3000, 7);
  for (const std::uint32_t leaves : {1u, 2u, 64u, 512u}) {
    SynthRankerOptions options;
    options.features = 20;
    options.leaves = leaves;
    const RankerModel model = synth_trees(3, options);
    const auto& trees = std::get<TreeEnsemble>(model.function);
    CHECK(trees.trees() == 3);
    CHECK(trees.leaves.size() == 3 * leaves);
    CHECK(trees.nodes.size() == 3 * (leaves - 1));
    const RankerModel one = synth_trees(1, options);
    std::vector<double> scores = synthetic_scores(one, features);
    std::sort(scores.begin(), scores.end());
    const auto reached = static_cast<std::size_t>(std::unique(scores.begin(), scores.end()) - scores.begin());
    INFO(leaves << " leaves, of which documents reach " << reached);
    CHECK(reached <= leaves);
    CHECK(2 * reached > leaves);
  }
}

TEST_CASE("synthetic rankers and features depend only on the seed", "[synth][ranker]") {
  SynthRankerOptions options;
  options.features = 9;
  const RankerModel model = synth_ranker(all_synth_rankers[1], options);
  CHECK(std::get<NetworkModel>(synth_ranker(all_synth_rankers[1], options).function) ==
        std::get<NetworkModel>(model.function));
  options.seed = 2;
  CHECK(!(std::get<NetworkModel>(synth_ranker(all_synth_rankers[1], options).function) ==
          std::get<NetworkModel>(model.function)));
  const SynthFeatures few(9, 40, 1), many(9, 100, 1), others(9, 40, 2);
  std::size_t equal = 0;
  for (std::uint32_t feature = 0; feature < 9; ++feature)
    for (std::size_t d = 0; d < 40; ++d) {
      CHECK(few.columns().column(feature)[d] == many.columns().column(feature)[d]);
      equal += few.columns().column(feature)[d] == others.columns().column(feature)[d] ? 1 : 0;
    }
  CHECK(equal < 9 * 20);
}

TEST_CASE("synthetic features are counts, long-tailed numbers, few integers and numbers around 0", "[synth][ranker]") {
  const SynthFeatures features(4, 20000, 3);
  const auto values = [&](std::uint32_t feature) {
    const float* const column = features.columns().column(feature);
    return std::vector<float>(column, column + 20000);
  };
  const auto integers = [](const std::vector<float>& all) {
    return std::all_of(all.begin(), all.end(), [](float x) { return x == std::floor(x); });
  };
  const auto median_of = [](std::vector<float> all) {
    std::nth_element(all.begin(), all.begin() + 10000, all.end());
    return all[10000];
  };
  CHECK(integers(values(0)));
  CHECK(median_of(values(0)) == 2);
  CHECK(!integers(values(1)));
  CHECK(std::abs(median_of(values(1)) - 1) < 0.1f);
  CHECK(integers(values(2)));
  CHECK(median_of(values(2)) == 0);
  CHECK(std::abs(median_of(values(3))) < 0.1f);
}

TEST_CASE("synthetic rankers without features or leaves are refused", "[synth][ranker]") {
  SynthRankerOptions options;
  options.features = 0;
  CHECK_THROWS_AS(synth_trees(1, options), InvalidArgument);
  options = {};
  options.leaves = 0;
  CHECK_THROWS_AS(synth_ranker(all_synth_rankers[2], options), InvalidArgument);
}

}  // namespace quern
