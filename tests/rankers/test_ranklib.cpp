#include "quern/core/error.hpp"
#include "quern/formats/rankers/model_format.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"
#include "rankers/plain_scores.hpp"

/// Hand-written RankLib files, with scores computed like in its source.
namespace quern {
namespace {

using namespace testing;

std::string ranklib_split(const std::string& feature, const std::string& threshold, const std::string& left,
                          const std::string& right) {
  return "<split>\n<feature> " + feature + " </feature>\n<threshold> " + threshold + " </threshold>\n" + left + right +
         "</split>\n";
}
std::string ranklib_leaf(const std::string& value) {
  return "<split pos=\"x\"><output> " + value + " </output></split>\n";
}
std::string ranklib_tree(const std::string& weight, const std::string& split) {
  return "\t<tree id=\"1\" weight=\"" + weight + "\">\n" + split + "</tree>\n";
}
std::string ranklib_ensemble(const std::string& trees) { return "<ensemble>\n" + trees + "</ensemble>\n"; }

const std::string ranklib_stump = ranklib_split("3", "0.5", ranklib_leaf("1"), ranklib_leaf("-2"));

RankerModel ranklib_of(const std::string& text) { return parse_ranker({"m.txt", text}); }

}  // namespace

TEST_CASE("RankLib's LambdaMART adds up weighted outputs, rounded to float32 after each tree", "[rankers]") {
  const std::string text =
      "## LambdaMART\n## No. of trees = 2\n\n" +
      ranklib_ensemble(
          ranklib_tree("0.1", ranklib_split("3", "0.5", ranklib_leaf("1.7"),
                                            ranklib_split("12", "-1", ranklib_leaf("2"), ranklib_leaf("3")))) +
          ranklib_tree("0.3", ranklib_stump));
  for (const std::string& model_text : {text, text.substr(text.find("<ensemble>"))}) {
    const RankerModel model = ranklib_of(model_text);
    CHECK(model.format == "ranklib");
    CHECK(model.features == std::vector<ModelFeature>{{"3", 3}, {"12", 12}});
    // In Java: float s += double * float.
    const auto sum = [](float first, float second) {
      float s = 0;
      s = static_cast<float>(s + static_cast<double>(first) * static_cast<double>(0.1f));
      return static_cast<double>(static_cast<float>(s + static_cast<double>(second) * static_cast<double>(0.3f)));
    };
    CHECK(plain_score(model, {0.5f, 0}) == sum(1.7f, 1));
    CHECK(plain_score(model, {std::nextafterf(0.5f, 1), -1}) == sum(2, -2));
    CHECK(plain_score(model, {1, 0}) == sum(3, -2));
    // Missing values count as 0.
    CHECK(plain_score(model, {missing_value, missing_value}) == sum(1.7f, 1));
  }
  CHECK(
      std::get<TreeEnsemble>(ranklib_of("## MART\n" + ranklib_ensemble(ranklib_tree("1", ranklib_leaf("2")))).function)
          .leaves == std::vector<double>{2});
}

TEST_CASE("the example on RankLib's page scores what the page says", "[rankers]") {
  const RankerModel model = ranklib_of(page_block("rankers/ranklib.md", "ranklib"));
  CHECK(model.features == std::vector<ModelFeature>{{"2", 2}});
  CHECK(plain_score(model, {18.5f}) == -0.875);
  CHECK(plain_score(model, {18.75f}) == 0.875);
}

TEST_CASE("RankLib's random forests are the mean of their bags", "[rankers]") {
  const std::string bag = ranklib_ensemble(ranklib_tree("0.1", ranklib_stump)),
                    two = ranklib_ensemble(ranklib_tree("0.1", ranklib_stump) + ranklib_tree("1", ranklib_leaf("0.7")));
  const RankerModel model = ranklib_of("## Random Forests\n## No. of bags = 3\n\n" + bag + "\n" + two + "\n" + bag);
  const auto& trees = std::get<TreeEnsemble>(model.function);
  CHECK(trees.group_ends == std::vector<std::uint64_t>{1, 3, 4});
  const float one = static_cast<float>(1 * static_cast<double>(0.1f));
  const float other = static_cast<float>(static_cast<double>(one) + static_cast<double>(0.7f));
  CHECK(plain_score(model, {0}) == (static_cast<double>(one) + other + one) / 3);
  CHECK_THROWS_WITH(ranklib_of("## LambdaMART\n" + bag + bag), Catch::Contains("second ensemble"));
}

TEST_CASE("RankLib's linear models are sums in double, in the order of the file", "[rankers]") {
  const RankerModel model = ranklib_of("## Linear Regression\n## Lambda = 1.0E-10\n0:0.25 12:0.1 3:-2.0E-3 # end\n");
  CHECK(model.features == std::vector<ModelFeature>{{"3", 3}, {"12", 12}});
  CHECK(plain_score(model, {0.7f, 0.3f}) ==
        0.25 + 0.1 * static_cast<double>(0.3f) + -2.0e-3 * static_cast<double>(0.7f));
  CHECK(plain_score(model, {missing_value, missing_value}) == 0.25);
  CHECK(plain_score(ranklib_of("## Coordinate Ascent\n1:0.5 2:0.5"), {3, 4}) == 3.5);
  for (const char* bad :
       {"## Coordinate Ascent\n0:0.5 2:0.5", "## Linear Regression\n1:0.5", "## Linear Regression\n0:1 0:2 1:1",
        "## Coordinate Ascent\n", "## Coordinate Ascent\n1:x", "## Coordinate Ascent\n1:inf", "## Coordinate Ascent\n1",
        "## Coordinate Ascent\n-1:1", "## Coordinate Ascent\n1:2:3", "## Coordinate Ascent\n4294967296:1",
        "## Linear Regression\n0:1"}) {
    INFO(bad);
    CHECK_THROWS_WITH(ranklib_of(bad), Catch::Matchers::StartsWith("m.txt, line 2: "));
  }
}

TEST_CASE("RankLib's other rankers are refused by name", "[rankers]") {
  CHECK_THROWS_AS(ranklib_of("## AdaRank\n"), InvalidArgument);
  CHECK_THROWS_WITH(ranklib_of("## RankNet\n## Epochs = 100\n"), Catch::Contains("RankNet"));
}

TEST_CASE("RankLib's trees that contradict themselves are refused with the line", "[rankers]") {
  const std::string whole = ranklib_ensemble(ranklib_tree("0.1", ranklib_stump));
  CHECK_NOTHROW(ranklib_of(whole));
  CHECK_NOTHROW(ranklib_of("## LambdaMART\n<?xml version=\"1.0\"?><!-- made by hand -->\n" + whole));
  const std::string leaf = ranklib_leaf("1");
  for (const std::string& bad : {
           std::string("<ensemble></ensemble>"),
           std::string("<ensemble>"),
           whole + "<tree>",
           whole.substr(0, 60),
           ranklib_ensemble("<tree id=\"1\">" + leaf + "</tree>"),
           ranklib_ensemble(ranklib_tree("x", leaf)),
           ranklib_ensemble(ranklib_tree("inf", leaf)),
           ranklib_ensemble(ranklib_tree("1", "")),
           ranklib_ensemble(ranklib_tree("1", leaf + leaf)),
           ranklib_ensemble(ranklib_tree("1", ranklib_leaf("x"))),
           ranklib_ensemble(ranklib_tree("1", ranklib_leaf("NaN"))),
           ranklib_ensemble(ranklib_tree("1", ranklib_split("0", "1", leaf, leaf))),
           ranklib_ensemble(ranklib_tree("1", ranklib_split("1.5", "1", leaf, leaf))),
           ranklib_ensemble(ranklib_tree("1", ranklib_split("1", "NaN", leaf, leaf))),
           ranklib_ensemble(ranklib_tree("1", ranklib_split("1", "1", leaf, ""))),
           ranklib_ensemble(ranklib_tree("1", ranklib_split("1", "1", leaf, leaf + leaf))),
           ranklib_ensemble(ranklib_tree("1", "<split>" + leaf + leaf + "</split>")),
           ranklib_ensemble(ranklib_tree("1", "<split><output>1</output><output>1</output></split>")),
           ranklib_ensemble(ranklib_tree("1", "<split><feature>1</feature><output>1</output></split>")),
           ranklib_ensemble(ranklib_tree("1", "<split><output>1<x></output></split>")),
           ranklib_ensemble(ranklib_tree("1", "<split>1</split>")),
           ranklib_ensemble(ranklib_tree("1", "<leaf>")),
           ranklib_ensemble("<ensemble>"),
           ranklib_ensemble("</tree>"),
           std::string("<ensemble><tree"),
           ranklib_ensemble("<split>"),
           ranklib_ensemble("<!-- "),
       }) {
    INFO(bad);
    CHECK_THROWS_AS(ranklib_of(bad), CorruptFile);
    CHECK_THROWS_WITH(ranklib_of(bad), Catch::Matchers::StartsWith("m.txt, line "));
  }
}

TEST_CASE("RankLib's splits may be nested 100,000 deep", "[rankers]") {
  std::string begin, end;
  for (int i = 0; i < 100'000; ++i) {
    begin += "<split><feature>1</feature><threshold>" + std::to_string(100'000 - i) + "</threshold>";
    end += ranklib_leaf(std::to_string(i)) + "</split>";
  }
  const RankerModel model = ranklib_of(ranklib_ensemble(ranklib_tree("1", begin + ranklib_leaf("-1") + end)));
  CHECK(std::get<TreeEnsemble>(model.function).nodes.size() == 100'000);
  CHECK(plain_score(model, {0}) == -1);
}

}  // namespace quern
