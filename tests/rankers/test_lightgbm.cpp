#include <limits>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/model_format.hpp"

#include "catch.hpp"
#include "rankers/plain_scores.hpp"

/// Hand-written LightGBM files: each kind of split, and refused files.
namespace quern {
namespace {

using namespace testing;

const std::string lightgbm_head =
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=3\nobjective=lambdarank\n"
    "feature_names=Column_0 Column_1 bm25 Column_3\nfeature_infos=none\ntree_sizes=1\n\n";
const std::string lightgbm_end = "end of trees\n\nfeature_importances:\n";

/// A file of one tree: a split of feature 2 with this decision and threshold, -1 to the left and 1 to the right.
std::string one_split(int decision, const std::string& threshold, const std::string& more = "") {
  return lightgbm_head + "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=2\nsplit_gain=1\nthreshold=" + threshold +
         "\ndecision_type=" + std::to_string(decision) + "\nleft_child=-1\nright_child=-2\nleaf_value=-1 1\n" + more +
         "is_linear=0\nshrinkage=0.1\n\n\n" + lightgbm_end;
}

RankerModel lightgbm_of(const std::string& text) { return parse_ranker({"m.txt", text}); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t found = text.find(from);
  REQUIRE(found != text.npos);
  return text.replace(found, from.size(), to);
}

}  // namespace

TEST_CASE("missing values in LightGBM go to the side that their type says", "[rankers]") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto scores = [](int decision, const std::string& threshold) {
    const RankerModel model = lightgbm_of(one_split(decision, threshold));
    std::string signs;
    for (const float x : {-1.0f, 0.0f, 1e-35f, 1.0f, missing_value}) signs += plain_score(model, {x}) < 0 ? '<' : '>';
    return signs;
  };
  // None: NaN is 0. The bit for the default side means nothing.
  CHECK(scores(0, "0") == "<<>><");
  CHECK(scores(2, "-0.5") == "<>>>>");
  // Zero: zeros and NaN go to the default side.
  CHECK(scores(4, "0.5") == "<>>>>");
  CHECK(scores(6, "-0.5") == "<<<><");
  // NaN: only NaN goes to the default side.
  CHECK(scores(8, "0.5") == "<<<>>");
  CHECK(scores(10, "-0.5") == "<>>><");
  // Thresholds beyond float32, as LightGBM writes infinite ones.
  CHECK(std::get<TreeEnsemble>(lightgbm_of(one_split(8, "1e+300")).function).nodes[0].threshold ==
        std::numeric_limits<float>::max());
  CHECK(plain_score(lightgbm_of(one_split(8, "1e+300")), {inf}) == 1);
  CHECK(plain_score(lightgbm_of(one_split(8, "inf")), {inf}) == -1);
  CHECK(plain_score(lightgbm_of(one_split(8, "-1e+300")), {-inf}) == -1);
  CHECK(plain_score(lightgbm_of(one_split(8, "-1e+300")), {std::numeric_limits<float>::lowest()}) == 1);
  // 0.1 lies between two float32: the upper one is above it.
  CHECK(plain_score(lightgbm_of(one_split(8, "0.10000000000000001")), {0.1f}) == 1);
  CHECK(plain_score(lightgbm_of(one_split(8, "0.10000000000000001")), {std::nextafterf(0.1f, 0)}) == -1);
}

TEST_CASE("LightGBM's categories go left, and everything else right", "[rankers]") {
  // Categories 1, 33 and 34, with a second split's bits before them.
  const RankerModel model = lightgbm_of(one_split(1, "1", "cat_boundaries=0 1 3\ncat_threshold=4294967295 2 6\n"));
  const auto& trees = std::get<TreeEnsemble>(model.function);
  REQUIRE(trees.inputs.size() == 1);
  CHECK(trees.inputs[0].kind == TreeInputKind::in_categories);
  CHECK(trees.inputs[0].categories == std::vector<std::uint32_t>{1, 33, 34});
  for (const float x : {1.0f, 1.99f, 33.0f, 34.5f}) CHECK(plain_score(model, {x}) == -1);
  for (const float x : {0.0f, -1.0f, 2.0f, 35.0f, 65.0f, 1e10f, -1e10f, missing_value})
    CHECK(plain_score(model, {x}) == 1);
}

TEST_CASE("LightGBM's codes stand for the categories of a data frame", "[rankers]") {
  const auto frame = [](int decision, const std::string& infos, const std::string& columns, const std::string& lists) {
    const bool is_categorical = decision == 1;
    return replaced(one_split(decision, is_categorical ? "0" : "0.5",
                              is_categorical ? "cat_boundaries=0 1\ncat_threshold=5\n" : ""),
                    "feature_infos=none", "feature_infos=" + infos) +
           "\nparameters:\n[categorical_feature: " + columns + "]\nend of parameters\n\npandas_categorical:" + lists +
           "\n";
  };
  const auto signs = [](const std::string& text) {
    const RankerModel model = lightgbm_of(text);
    std::string found;
    for (const float x : {7.0f, 2.5f, -3.0f, 0.0f, 1.0f, 2.0f, missing_value})
      found += plain_score(model, {x}) < 0 ? '<' : '>';
    return found;
  };
  // Codes 0 and 2 go left.
  CHECK(signs(frame(1, "none none -1:0:1:2 none", "2", "[[7, 2.5, -3]]")) == "<><>>>>");
  CHECK(signs(frame(1, "none none -1:0:1:2 none", "2", "[[7, 2.5, -0.0]]")) == "<>><>>>");
  CHECK(signs(frame(1, "none none -1:0:1:2 none", "2", "null")) == "><><><>");
  CHECK(signs(frame(1, "none none 0:1 none", "2", "[[true, false, 2]]")) == ">>>><<>");
  // Categories with an order are numbers for LightGBM: code 0 goes left. Other values are missing.
  CHECK(signs(frame(8, "none none [0:2] [0:7]", "", "[[7, 2.5, -3]]")) == "<>>>>>>");
  CHECK(signs(frame(10, "none none [0:2] [0:7]", "", "[[7, 2.5, -3]]")) == "<>><<<<");
  CHECK(signs(frame(0, "none none [0:2] [0:7]", "", "[[7, 2.5, -3]]")) == "<>><<<<");
  CHECK(signs(frame(6, "none none [0:2] [0:7]", "", "[[7, 2.5, -3]]")) == "<>><<<<");
  CHECK(signs(frame(4, "none none [0:2] [0:7]", "", "[[7, 2.5, -3]]")) == ">>>>>>>");
  // The column of the only list is another one.
  CHECK(signs(frame(8, "0:4:1 none [0:2] none", "0", "[[9, 8, 7, 6, 5]]")) == ">><<>>>");
  // Whichever list is the column's, its categories are the codes.
  CHECK(signs(frame(1, "-1:0:1:2:3 none -1:0:1:2 [0:2]", "0,2", "[[0, 1, 2, 3], [0, 1, 2]]")) == ">>><><>");
  const auto refused = [&](const std::string& text, const char* why) {
    CHECK_THROWS_AS(lightgbm_of(text), InvalidArgument);
    CHECK_THROWS_WITH(lightgbm_of(text), Catch::Contains("'bm25'") && Catch::Contains(why));
  };
  refused(frame(1, "none none 0:1:2 none", "2", R"([[1, "b", 3]])"), "category 'b' is not a number");
  refused(frame(1, "none none 0:1:2 none", "2", "[[1, 16777217, 16777216]]"), "equal");
  // The file allows two columns, all of them, or none.
  refused(frame(8, "[0:2] none [0:2] none", "", "[[7, 2.5, -3]]"), "does not say");
  refused(frame(8, "0:1 none [0:2] none", "0", "[[7, 2.5, -3]]"), "does not say");
  refused(frame(8, "none none [0:5] none", "", "[[7, 2.5, -3]]"), "does not say");
  refused(frame(8, "none", "", "[[7, 2.5, -3]]"), "does not say");
  for (const char* bad : {"[[1]", "[1]", "{}", "[[null]]", "[[[1]]]", "1", "[[1, 2]]"}) {
    INFO(bad);
    CHECK_THROWS_AS(lightgbm_of(frame(1, "none none 0:1:0 none", "2", bad)), CorruptFile);
  }
  for (const char* bad : {"1", "true", "\"x\"", "[1]", "{}", "[{\"a\": 1}]", "[[null]]", "[[[1]]]"}) {
    INFO(bad);
    CHECK_THROWS_WITH(parse_ranker({"m.json", R"({"name":"tree","pandas_categorical":)" + std::string(bad) + "}"}),
                      "m.json: pandas_categorical is not a list of lists of categories");
  }
}

TEST_CASE("LightGBM's features have their names and numbers, and only those that trees use are kept", "[rankers]") {
  CHECK(lightgbm_of(one_split(0, "1")).features == std::vector<ModelFeature>{{"bm25", ModelFeature::no_number}});
  const std::string unnamed = replaced(one_split(0, "1"), "feature_names=Column_0 Column_1 bm25 Column_3\n", "");
  CHECK(lightgbm_of(unnamed).features == std::vector<ModelFeature>{{"Column_2", 2}});
  CHECK(lightgbm_of(replaced(one_split(0, "1"), "version=v4", "version=v3")).format == "lightgbm");
  // Lines may end with CR LF.
  std::string carriage;
  for (const char c : one_split(0, "1")) carriage += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(lightgbm_of(carriage).features.size() == 1);
}

TEST_CASE("LightGBM's models of other kinds are refused by name", "[rankers]") {
  const std::string sound = one_split(0, "1");
  CHECK_NOTHROW(lightgbm_of(sound));
  CHECK_THROWS_AS(lightgbm_of(replaced(sound, "version=v4", "version=v5")), UnsupportedVersion);
  CHECK_THROWS_WITH(lightgbm_of(replaced(sound, "num_tree_per_iteration=1", "num_tree_per_iteration=3")),
                    Catch::Contains("several classes"));
  CHECK_THROWS_WITH(lightgbm_of(replaced(sound, "is_linear=0", "is_linear=1")), Catch::Contains("without linear_tree"));
}

TEST_CASE("LightGBM's files that contradict themselves are refused with the tree", "[rankers]") {
  const std::string sound = one_split(0, "1");
  const std::pair<const char*, const char*> changes[] = {
      {"split_feature=2", "split_feature=4"},   {"split_feature=2", "split_feature=-1"},
      {"split_feature=2", "split_feature=2 2"}, {"threshold=1", "threshold=nan"},
      {"threshold=1", "threshold=x"},           {"threshold=1", "threshold="},
      {"left_child=-1", "left_child=0"},        {"left_child=-1", "left_child=-2"},
      {"left_child=-1", "left_child=-3"},       {"left_child=-1", "left_child=1"},
      {"leaf_value=-1 1", "leaf_value=-1"},     {"leaf_value=-1 1", "leaf_value=-1 nan"},
      {"leaf_value=-1 1", "leaf_value=-1 inf"}, {"decision_type=0", "decision_type=12"},
      {"decision_type=0", "decision_type=1"},   {"num_leaves=2", "num_leaves=3"},
      {"num_leaves=2", "num_leaves=0"},         {"num_leaves=2", "num_leaves=4294967297"}};
  for (const auto& [from, to] : changes) {
    INFO(to);
    CHECK_THROWS_WITH(lightgbm_of(replaced(sound, from, to)), Catch::Matchers::StartsWith("m.txt: tree 0: "));
  }
  for (const char* bits : {"cat_boundaries=0 2\ncat_threshold=1\n", "cat_boundaries=1 0\ncat_threshold=1\n",
                           "cat_boundaries=0\ncat_threshold=1\n", ""}) {
    INFO(bits);
    CHECK_THROWS_WITH(lightgbm_of(one_split(1, "0", bits)), Catch::Contains("cat_boundaries"));
  }
  CHECK_THROWS_AS(lightgbm_of(replaced(sound, lightgbm_end, "")), CorruptFile);
  CHECK_THROWS_AS(lightgbm_of(lightgbm_head + lightgbm_end), CorruptFile);
  CHECK_THROWS_AS(lightgbm_of(replaced(sound, "max_feature_idx=3\n", "")), CorruptFile);
  CHECK_THROWS_AS(lightgbm_of(replaced(sound, "max_feature_idx=3", "max_feature_idx=7")), CorruptFile);
}

TEST_CASE("a chain of 100,000 LightGBM nodes is read", "[rankers]") {
  constexpr int nodes = 100'000;
  std::string features, thresholds, decisions, left, right, values;
  for (int i = 0; i < nodes; ++i) {
    features += "0 ";
    thresholds += std::to_string(nodes - i) + " ";
    decisions += "0 ";
    left += (i + 1 < nodes ? std::to_string(i + 1) : "-1") + " ";
    right += std::to_string(-i - 2) + " ";
  }
  for (int i = 0; i <= nodes; ++i) values += std::to_string(i) + " ";
  const RankerModel model = lightgbm_of(lightgbm_head + "Tree=0\nnum_leaves=" + std::to_string(nodes + 1) +
                                        "\nnum_cat=0\nsplit_feature=" + features + "\nthreshold=" + thresholds +
                                        "\ndecision_type=" + decisions + "\nleft_child=" + left +
                                        "\nright_child=" + right + "\nleaf_value=" + values + "\n\n" + lightgbm_end);
  const auto& trees = std::get<TreeEnsemble>(model.function);
  CHECK(trees.nodes.size() == nodes);
  // The leaf on the left comes first: it is the deepest one.
  CHECK(trees.leaves[0] == 0);
  CHECK(trees.leaves[1] == nodes);
  CHECK(plain_score(model, {0.5f}) == 0);
  CHECK(plain_score(model, {1.5f}) == nodes);
  CHECK(plain_score(model, {1e9f}) == 1);
}

}  // namespace quern
