#include <tbb/parallel_for.h>

#include <bit>
#include <functional>

#include "quern/core/error.hpp"
#include "quern/core/simd_level.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/rank/models/transformation.hpp"

#include "catch.hpp"
#include "rank/models/random_models.hpp"

namespace quern {
namespace {

using namespace test;

using ScoreBits = std::vector<std::uint64_t>;

ScoreBits bits_of(std::span<const double> scores) {
  ScoreBits bits;
  for (const double score : scores) bits.push_back(std::bit_cast<std::uint64_t>(score));
  return bits;
}

ScoreBits scores_by(const Ranker& ranker, const FeatureColumns& features) {
  std::vector<double> scores(features.documents, -77);
  ranker.score(features, scores);
  return bits_of(scores);
}

/// Scores in calls of `step` documents, a multiple of documents_per_group.
ScoreBits scores_in_parts(const Ranker& ranker, const FeatureColumns& features, std::size_t step) {
  std::vector<double> scores(features.documents, -77);
  for (std::size_t first = 0; first < features.documents; first += step) {
    const std::size_t some = std::min(step, features.documents - first);
    ranker.score({features.values + first, some, features.stride}, std::span(scores).subspan(first, some));
  }
  return bits_of(scores);
}

/// Calls what() with each level set.
void at_each_level(const std::function<void()>& what) {
  const SimdLevel best = simd_level();
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    INFO(name_of(level));
    what();
  }
  set_simd_level(best);
}

/// Checks that all levels give the bits of plain evaluation, in one call and in several.
void check_scores(const RankerModel& model, const FeatureColumns& features) {
  const ScoreBits expected = scores_by(*make_plain_ranker(model), features);
  at_each_level([&] {
    const auto ranker = make_ranker(model);
    REQUIRE(scores_by(*ranker, features) == expected);
    REQUIRE(scores_in_parts(*ranker, features, 32) == expected);
    REQUIRE(scores_in_parts(*ranker, features, 96) == expected);
    std::vector<double> scores(features.documents);
    RankerStages stages;
    ranker->score(features, scores, stages);
    REQUIRE(bits_of(scores) == expected);
  });
}

/// The columns of the first documents.
FeatureColumns first_documents(const RandomDocuments& documents, std::size_t count) {
  return {documents.columns.values, count, documents.columns.stride};
}

}  // namespace

TEST_CASE("trees of any size have the scores of plain evaluation, bit for bit", "[ranker][property]") {
  ModelRandom random(1);
  const std::uint32_t most_leaves[] = {1, 2, 3, 8, 33, 64, 65, 128, 129, 256, 257, 300, 700};
  for (unsigned trial = 0; trial < 39; ++trial) {
    EnsembleShape shape;
    shape.max_leaves = most_leaves[trial % std::size(most_leaves)];
    shape.min_leaves = trial % 3 == 0 ? shape.max_leaves : 1;
    shape.trees = 1 + static_cast<std::uint32_t>(random() % 30);
    shape.features = 1 + static_cast<std::uint32_t>(random() % 12);
    shape.distinct_thresholds = trial % 2 == 0 ? 40 : 5000;
    shape.chains = trial % 5 == 4;
    const TreeEnsemble trees = random_trees(random, shape);
    const RandomDocuments documents(random, shape.features, 1 + random() % 400, shape.distinct_thresholds);
    INFO("trial " << trial << ": " << shape.trees << " trees of up to " << shape.max_leaves << " leaves, "
                  << documents.columns.documents << " documents");
    check_scores(model_of(shape.features, trees), documents.columns);
  }
}

TEST_CASE("any number of documents has the same scores", "[ranker][property]") {
  ModelRandom random(2);
  EnsembleShape shape;
  shape.trees = 20;
  const RankerModel model = model_of(shape.features, random_trees(random, shape));
  const RankerModel network = model_of(shape.features, random_network(random, shape.features, 9, shape, {5, 1}));
  const RandomDocuments documents(random, shape.features, 3000);
  for (const std::size_t count : {0,  1,  2,  3,  4,  5,   6,   7,   15,  16,  17,  31,   32,   33,   63,
                                  64, 65, 95, 96, 97, 127, 128, 129, 255, 256, 257, 1023, 2047, 2049, 3000}) {
    INFO(count << " documents");
    check_scores(model, first_documents(documents, count));
    check_scores(network, first_documents(documents, count));
  }
}

TEST_CASE("groups of trees are summed by themselves", "[ranker]") {
  ModelRandom random(3);
  EnsembleShape shape;
  shape.trees = 40;
  TreeEnsemble trees = random_trees(random, shape);
  const RandomDocuments documents(random, shape.features, 200);
  for (const TreeSum sum : {TreeSum::float64, TreeSum::float32})
    for (const std::vector<std::uint64_t>& ends :
         {std::vector<std::uint64_t>{40}, {10, 20, 30, 40}, {0, 1, 1, 39, 40, 40}, {13, 40}}) {
      trees.sum = sum;
      trees.group_ends = ends;
      check_scores(model_of(shape.features, trees), documents.columns);
    }
  // By hand: means of sums.
  TreeEnsemble leaves;
  leaves.leaves = {1, 2, 30};
  leaves.first_leaf = {0, 1, 2, 3};
  leaves.first_node = {0, 0, 0, 0};
  leaves.base = 0.5;
  leaves.group_ends = {2, 3};
  const auto ranker = make_ranker(model_of(1, leaves));
  std::vector<double> scores(5);
  ranker->score(first_documents(documents, 5), scores);
  CHECK(scores == std::vector<double>(5, (3.5 + 30.5) / 2));
}

TEST_CASE("ensembles at the limits are evaluated", "[ranker]") {
  ModelRandom random(4);
  const RandomDocuments documents(random, 8, 70);
  SECTION("no trees") {
    TreeEnsemble trees;
    trees.base = 3;
    check_scores(model_of(8, trees), documents.columns);
    trees.group_ends = {0, 0};
    check_scores(model_of(8, trees), documents.columns);
  }
  SECTION("trees of one leaf alone, for any number of documents") {
    TreeEnsemble trees;
    for (std::uint64_t tree = 0; tree < 20; ++tree) {
      trees.leaves.push_back(0.1 * static_cast<double>(tree));
      trees.first_node.push_back(0);
      trees.first_leaf.push_back(tree + 1);
    }
    for (const std::size_t count : {1, 5, 6, 33, 70})
      check_scores(model_of(8, trees), first_documents(documents, count));
    NetworkModel network;
    network.trees = trees;
    network.layers = {random_layer(random, 20, 1)};
    for (const std::size_t count : {1, 5, 6, 33, 70})
      check_scores(model_of(8, network), first_documents(documents, count));
  }
  SECTION("very many trees of one leaf, and of two") {
    EnsembleShape shape;
    shape.trees = 200000;
    shape.max_leaves = 2;
    check_scores(model_of(8, random_trees(random, shape)), first_documents(documents, 9));
  }
  SECTION("trees with more leaves than there are steps, among others") {
    EnsembleShape shape;
    shape.trees = 5;
    shape.max_leaves = 200;
    TreeEnsemble trees = random_trees(random, shape);
    for (const std::uint32_t leaves : {2048u, 2049u, 5000u, 60u}) {
      shape.min_leaves = shape.max_leaves = leaves;
      add_random_tree(random, shape, trees);
    }
    check_scores(model_of(8, trees), documents.columns);
    NetworkModel network;
    network.trees = trees;
    network.layers = {random_layer(random, 9, 1)};
    check_scores(model_of(8, network), documents.columns);
  }
  SECTION("a chain of 100,000 nodes") {
    EnsembleShape shape;
    shape.trees = 1;
    shape.min_leaves = shape.max_leaves = 100001;
    shape.chains = true;
    check_scores(model_of(8, random_trees(random, shape)), documents.columns);
  }
  SECTION("more columns than steps can name") {
    TreeEnsemble trees;
    constexpr std::uint32_t inputs = 70000;
    trees.inputs.resize(inputs);
    for (std::uint32_t tree = 0; tree < inputs; ++tree) {
      trees.inputs[tree].feature = tree % 8;
      trees.nodes.push_back({random_number(random, 30), tree, -1, -2, tree % 2 == 0});
      trees.leaves.insert(trees.leaves.end(), {0.25 * tree, -0.1});
      trees.first_node.push_back(trees.nodes.size());
      trees.first_leaf.push_back(trees.leaves.size());
    }
    check_scores(model_of(8, trees), documents.columns);
  }
}

TEST_CASE("documents reach the correct leaves even if leaves are not numbered from left to right", "[ranker]") {
  ModelRandom random(5);
  EnsembleShape shape;
  shape.trees = 1;
  shape.min_leaves = shape.max_leaves = 600;
  TreeEnsemble trees = random_trees(random, shape);
  // The mirror image, with the old leaves.
  for (TreeNode& node : trees.nodes) std::swap(node.left, node.right);
  const RandomDocuments documents(random, shape.features, 100);
  check_scores(model_of(shape.features, trees), documents.columns);
}

TEST_CASE("inputs of trees are computed from features as models say", "[ranker]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(32);
  const float given[] = {nan, 0.0f, -0.0f, 1e-35f, 1.1e-35f, -1.0f, 2.9f, 3.0f, -0.5f, 4294967296.0f};
  std::copy(std::begin(given), std::end(given), values.begin());
  const auto lefts = [&](TreeInput input, float threshold, bool missing_left) {
    TreeEnsemble trees;
    trees.inputs = {std::move(input)};
    trees.nodes = {{threshold, 0, -1, -2, missing_left}};
    trees.leaves = {1, 0};
    trees.first_node = {0, 1};
    trees.first_leaf = {0, 2};
    const RankerModel model = model_of(1, trees);
    check_scores(model, {values.data(), std::size(given), 32});
    std::vector<double> scores(std::size(given));
    make_plain_ranker(model)->score({values.data(), scores.size(), 32}, scores);
    return scores;
  };
  using Lefts = std::vector<double>;
  CHECK(lefts({0, TreeInputKind::value, {}}, 0, false) == Lefts{0, 1, 1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(lefts({0, TreeInputKind::value, {}}, 0, true) == Lefts{1, 1, 1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(lefts({0, TreeInputKind::zero_missing, {}}, 2, false) == Lefts{0, 0, 0, 0, 1, 1, 0, 0, 1, 0});
  CHECK(lefts({0, TreeInputKind::nan_is_zero, {}}, 0, false) == Lefts{1, 1, 1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(lefts({0, TreeInputKind::in_categories, {0, 2}}, 0, true) == Lefts{1, 1, 1, 1, 1, 0, 1, 0, 1, 0});
  CHECK(lefts({0, TreeInputKind::in_categories, {0, 2}}, 0, false) == Lefts{0, 1, 1, 1, 1, 0, 1, 0, 1, 0});
  const TreeInput values_input = {0, TreeInputKind::in_values, {value_key(-0.0f), value_key(2.9f), value_key(-1)}};
  CHECK(lefts(values_input, 0, true) == Lefts{1, 1, 1, 0, 0, 1, 1, 0, 0, 0});
  CHECK(lefts(values_input, 0, false) == Lefts{0, 1, 1, 0, 0, 1, 1, 0, 0, 0});
}

TEST_CASE("networks have the scores of plain evaluation, bit for bit", "[ranker][property]") {
  ModelRandom random(6);
  for (unsigned trial = 0; trial < 24; ++trial) {
    EnsembleShape shape;
    shape.trees = static_cast<std::uint32_t>(random() % 20);
    shape.max_leaves = trial % 4 == 0 ? 300 : 64;
    shape.special_values = trial % 2 == 0;
    const auto transformations = static_cast<std::uint32_t>(1 + random() % 40);
    std::vector<std::uint32_t> outputs;
    for (unsigned layer = 0; layer < trial % 4; ++layer)
      outputs.push_back(static_cast<std::uint32_t>(1 + random() % 20));
    outputs.push_back(1);
    const NetworkModel model = random_network(random, shape.features, transformations, shape, outputs);
    const RandomDocuments documents(random, shape.features, 1 + random() % 300);
    INFO("trial " << trial);
    check_scores(model_of(shape.features, model), documents.columns);
  }
}

TEST_CASE("linear models have the scores of plain evaluation, bit for bit", "[ranker][property]") {
  ModelRandom random(7);
  for (unsigned trial = 0; trial < 10; ++trial) {
    LinearModel model;
    model.intercept = static_cast<double>(random() % 100) / 3;
    for (unsigned term = 0; term < trial * 3; ++term)
      model.terms.push_back({static_cast<std::uint32_t>(random() % 8), static_cast<double>(random() % 1000) / 7 - 70});
    const RandomDocuments documents(random, 8, 1 + random() % 300);
    check_scores(model_of(8, model), documents.columns);
  }
}

TEST_CASE("a NaN score has one form", "[ranker]") {
  LinearModel model;
  model.terms = {{0, 1}, {1, -1}};
  std::vector<float> values(64);
  // Processors differ in the sign of infinity minus infinity. A missing value is 0.
  for (std::size_t d = 0; d < 3; ++d) values[d] = values[32 + d] = std::numeric_limits<float>::infinity();
  values[35] = std::bit_cast<float>(0xffc00001);
  const FeatureColumns features = {values.data(), 4, 32};
  const std::uint64_t nan = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  CHECK(scores_by(*make_ranker(model_of(2, model)), features) == ScoreBits{nan, nan, nan, 0});
  check_scores(model_of(2, model), features);
}

TEST_CASE("many threads may score at once", "[ranker]") {
  ModelRandom random(8);
  EnsembleShape shape;
  const RankerModel model = model_of(shape.features, random_network(random, shape.features, 9, shape, {3, 1}));
  const RandomDocuments documents(random, shape.features, 300);
  const auto ranker = make_ranker(model);
  const ScoreBits expected = scores_by(*ranker, documents.columns);
  std::vector<std::uint8_t> equal(16);
  tbb::parallel_for(
      0, 16, [&](int i) { equal[static_cast<std::size_t>(i)] = scores_by(*ranker, documents.columns) == expected; });
  CHECK(equal == std::vector<std::uint8_t>(16, 1));
}

TEST_CASE("models that contradict themselves are refused", "[ranker]") {
  ModelRandom random(9);
  EnsembleShape shape;
  shape.min_leaves = 3;
  const TreeEnsemble sound = random_trees(random, shape);
  const auto refused = [&](const std::function<void(TreeEnsemble&)>& damage, const std::string& what) {
    TreeEnsemble trees = sound;
    damage(trees);
    const RankerModel model = model_of(shape.features, trees);
    CHECK_THROWS_WITH(make_ranker(model), Catch::Contains(what));
    CHECK_THROWS_AS(make_plain_ranker(model), InvalidArgument);
  };
  refused([](TreeEnsemble& trees) { trees.nodes[0].input = 99; }, "tree 0 of the ranker reads input 99 in node 0");
  refused([](TreeEnsemble& trees) { trees.inputs[2].feature = 8; }, "input 2 of the ranker reads feature 8");
  refused([](TreeEnsemble& trees) { trees.nodes[0].left = 0; }, "has the child 0 in node 0");
  refused([](TreeEnsemble& trees) { trees.nodes[0].left = -1000; }, "has the child -1000 in node 0");
  refused([](TreeEnsemble& trees) { trees.nodes[0].left = trees.nodes[0].right; }, "twice");
  refused([](TreeEnsemble& trees) { trees.nodes[1].threshold = std::numeric_limits<float>::quiet_NaN(); },
          "NaN threshold in node 1");
  refused([](TreeEnsemble& trees) { trees.leaves.pop_back(); }, "trees don't cover its");
  refused([](TreeEnsemble& trees) { --trees.first_leaf[1]; }, "leaves");
  refused([](TreeEnsemble& trees) { trees.first_node.pop_back(); }, "nodes");
  refused([](TreeEnsemble& trees) { trees.group_ends = {3}; }, "groups");
  NetworkModel network = random_network(random, shape.features, 3, shape, {2, 1});
  const ExpressionStep value = {ExpressionCode::feature, 0}, sum = {ExpressionCode::add};
  std::vector<ExpressionStep> deep(max_expression_values + 1, value);
  deep.resize(2 * deep.size() - 1, sum);
  for (const std::vector<ExpressionStep>& bad : {std::vector<ExpressionStep>{},
                                                 {value, sum},
                                                 {value, value},
                                                 {value, {static_cast<ExpressionCode>(15)}},
                                                 deep}) {
    network.transformations[1] = {TransformationKind::free_form, 0, 1, 0, bad};
    CHECK_THROWS_WITH(make_ranker(model_of(shape.features, network)),
                      Catch::Contains("transformation 1 of the ranker has an invalid expression"));
  }
  network.transformations[1].expression = {{ExpressionCode::feature, 99}};
  CHECK_THROWS_WITH(make_ranker(model_of(shape.features, network)), Catch::Contains("reads feature 99"));
  network.transformations[1] = {};
  network.layers[1].weights.pop_back();
  CHECK_THROWS_WITH(make_ranker(model_of(shape.features, network)),
                    Catch::Contains("layer 1 of the ranker has 1 weights"));
  network.layers.pop_back();
  CHECK_THROWS_WITH(make_ranker(model_of(shape.features, network)), Catch::Contains("2 outputs instead of one"));
  NetworkModel wide;
  wide.transformations.resize(max_layer_size);
  wide.layers = {{max_layer_size, 1, std::vector<float>(max_layer_size), {0}}};
  CHECK_NOTHROW(make_ranker(model_of(1, wide)));
  wide.transformations.resize(max_layer_size + 1);
  wide.layers = {{max_layer_size + 1, 1, std::vector<float>(max_layer_size + 1), {0}}};
  CHECK_THROWS_WITH(make_ranker(model_of(1, wide)), Catch::Contains("65537 inputs and 1 outputs; the limit is 65536"));
  LinearModel linear;
  linear.terms = {{1, 1}};
  CHECK_THROWS_WITH(make_ranker(model_of(1, linear)), Catch::Contains("term 0 of the ranker reads feature 1"));
}

}  // namespace quern
