#include <limits>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"

#include "catch.hpp"
#include "rankers/plain_scores.hpp"

/// Hand-written XGBoost files: splits, base scores, and refused files.
namespace quern {
namespace {

using namespace testing;

/// A model of one tree: -1 to the left of node 0, 1 to its right.
const std::string xgboost_sound =
    R"({"learner":{"attributes":{},"feature_names":[],"feature_types":[],"gradient_booster":{"model":{)"
    R"("gbtree_model_param":{"num_trees":"1"},"tree_info":[0],"trees":[{"base_weights":[NaN,1,2],"categories":[],)"
    R"("categories_nodes":[],"categories_segments":[],"categories_sizes":[],"default_left":[1,0,0],"id":0,)"
    R"("left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_conditions":[5E-1,-1,1],"split_indices":[4,0,0],)"
    R"("split_type":[0,0,0],"tree_param":{"num_nodes":"3","size_leaf_vector":"0"}}]},"name":"gbtree"},)"
    R"("learner_model_param":{"base_score":"0E0","num_class":"0","num_feature":"5","num_target":"1"},)"
    R"("objective":{"name":"rank:ndcg"}},"version":[1,7,4]})";

std::string xgboost_with(std::initializer_list<std::pair<std::string, std::string>> changes) {
  std::string text = xgboost_sound;
  for (const auto& [from, to] : changes) {
    const std::size_t found = text.find(from);
    INFO(from);
    REQUIRE(found != text.npos);
    text.replace(found, from.size(), to);
  }
  return text;
}

RankerModel xgboost_of(const std::string& text) { return parse_ranker({"m.json", text}); }

double base_of(const std::string& score, const std::string& objective = "rank:ndcg") {
  const RankerModel model = xgboost_of(xgboost_with({{"0E0", score}, {"rank:ndcg", objective}}));
  return std::get<TreeEnsemble>(model.function).base;
}

/// Records the events of a text or bytes, value by value.
class WrittenEvents : public JsonEvents {
 public:
  void begin_object() override { text_ += "{"; }
  void end_object() override { text_ += "}"; }
  void begin_array() override { text_ += "["; }
  void end_array() override { text_ += "]"; }
  void key(std::string_view name) override { (text_ += name) += ":"; }
  void text(std::string_view value) override { ((text_ += "'") += value) += "'"; }
  void number(const JsonNumber& value) override {
    double number = 0;
    REQUIRE(value.get(number));
    (text_ += std::to_string(number)) += ",";
  }
  void boolean(bool value) override { text_ += value ? "T" : "F"; }
  void null() override { text_ += "Z"; }
  const std::string& written() const { return text_; }

 private:
  std::string text_;
};

std::string written_json(const std::string& text) {
  WrittenEvents events;
  read_json(text, "j", events);
  return events.written();
}

std::string written_ubjson(const std::string& bytes) {
  WrittenEvents events;
  read_ubjson(bytes, "j", events);
  return events.written();
}

}  // namespace

TEST_CASE("XGBoost sends values below a threshold to the left", "[rankers]") {
  const RankerModel model = xgboost_of(xgboost_sound);
  CHECK(model.features == std::vector<ModelFeature>{{"f4", 4}});
  CHECK(plain_score(model, {std::nextafterf(0.5f, 0)}) == -1);
  CHECK(plain_score(model, {0.5f}) == 1);
  CHECK(plain_score(model, {missing_value}) == -1);
  CHECK(plain_score(xgboost_of(xgboost_with({{"[1,0,0]", "[false,0,0]"}})), {missing_value}) == 1);
  // The threshold -0 equals 0: no value lies between the largest number below 0 and 0.
  const RankerModel zero = xgboost_of(xgboost_with({{"[5E-1", "[-0.0"}}));
  CHECK(plain_score(zero, {0.0f}) == 1);
  CHECK(plain_score(zero, {-std::numeric_limits<float>::denorm_min()}) == -1);
  const RankerModel all = xgboost_of(xgboost_with({{"[5E-1", "[Infinity"}}));
  CHECK(plain_score(all, {std::numeric_limits<float>::max()}) == -1);
  CHECK(plain_score(all, {std::numeric_limits<float>::infinity()}) == 1);
}

TEST_CASE("XGBoost sends a split's categories to the right, and others to the left", "[rankers]") {
  const RankerModel model = xgboost_of(xgboost_with({{R"("categories":[])", R"("categories":[9,2,31])"},
                                                     {R"("categories_nodes":[])", R"("categories_nodes":[0])"},
                                                     {R"("categories_segments":[])", R"("categories_segments":[1])"},
                                                     {R"("categories_sizes":[])", R"("categories_sizes":[2])"},
                                                     {"[5E-1", "[NaN"},
                                                     {R"("split_type":[0)", R"("split_type":[1)"}}));
  for (const float x : {2.0f, 31.0f, 31.5f}) CHECK(plain_score(model, {x}) == 1);
  for (const float x : {9.0f, 0.0f, 3.0f, 32.0f, -2.0f, 1e9f, missing_value}) CHECK(plain_score(model, {x}) == -1);
  // Leaves are in the order of the model's own sides.
  CHECK(std::get<TreeEnsemble>(model.function).leaves == std::vector<double>{1, -1});
}

TEST_CASE("XGBoost's codes stand for the categories of a data frame", "[rankers]") {
  const auto frame = [](const std::string& column, const std::string& default_left) {
    const std::string none = R"({"offsets":[],"values":[]},)";
    return xgboost_with({{R"("categories":[])", R"("categories":[2])"},
                         {R"("categories_nodes":[])", R"("categories_nodes":[0])"},
                         {R"("categories_segments":[])", R"("categories_segments":[0])"},
                         {R"("categories_sizes":[])", R"("categories_sizes":[1])"},
                         {"[1,0,0]", default_left},
                         {R"("split_type":[0)", R"("split_type":[1)"},
                         {R"("gbtree_model_param")", R"("cats":{"enc":[)" + none + none + none + none + column +
                                                         R"(],"feature_segments":[]},"gbtree_model_param")"}});
  };
  const std::string numbers = R"({"type":15,"values":[9,-4,7]})";
  const auto scores = [](const std::string& text) {
    const RankerModel model = xgboost_of(text);
    std::vector<double> found;
    for (const float x : {9.0f, -4.0f, 7.0f, 2.0f, missing_value}) found.push_back(plain_score(model, {x}));
    return found;
  };
  // Only the last category goes right. Values outside the categories are missing.
  CHECK(scores(frame(numbers, "[1,0,0]")) == std::vector<double>{-1, -1, 1, -1, -1});
  CHECK(scores(frame(numbers, "[0,0,0]")) == std::vector<double>{-1, -1, 1, 1, 1});
  // UBJSON has the bits of unsigned numbers.
  CHECK(plain_score(xgboost_of(frame(R"({"type":12,"values":[0,1,-2]})", "[1,0,0]")), {65534}) == 1);
  const std::string texts = R"({"offsets":[0,1,3,4],"values":[97,98,99,100]})";
  CHECK_THROWS_WITH(xgboost_of(frame(texts, "[1,0,0]")),
                    Catch::Contains("'f4'") && Catch::Contains("'a' is not a number"));
  CHECK_THROWS_AS(xgboost_of(frame(R"({"type":15,"values":[9,-4]})", "[1,0,0]")), CorruptFile);
  // Keys may come in another order.
  std::string late = frame(numbers, "[0,0,0]");
  const std::size_t begin = late.find(R"("cats")"), end = late.find(R"("gbtree_model_param")");
  const std::string cats = late.substr(begin, end - begin);
  late.erase(begin, end - begin);
  late.insert(late.find(R"(},"name":"gbtree")"), "," + cats.substr(0, cats.size() - 1));
  CHECK(scores(late) == std::vector<double>{-1, -1, 1, 1, 1});
}

TEST_CASE("XGBoost's trees after the best iteration are not used", "[rankers]") {
  const std::string tree =
      xgboost_sound.substr(xgboost_sound.find(R"({"base_weights")"),
                           xgboost_sound.find(R"(]},"name":"gbtree")") - xgboost_sound.find(R"({"base_weights")"));
  const auto stopped = [&](const std::string& best, const std::string& more) {
    return xgboost_with({{R"("attributes":{})", R"("attributes":{"best_iteration":")" + best + R"("})"},
                         {R"("num_trees":"1"})", R"("num_trees":"4"})" + more},
                         {R"("trees":[)", R"("trees":[)" + tree + "," + tree + "," + tree + ","}});
  };
  const auto score = [](const std::string& text) { return plain_score(xgboost_of(text), {1}); };
  CHECK(score(stopped("0", "")) == 1);
  CHECK(score(stopped("2", "")) == 3);
  CHECK(score(stopped("1", R"(,"iteration_indptr":[0,2,3,4])")) == 3);
  std::string parallel = stopped("0", "");
  parallel.insert(parallel.find(R"("num_trees")"), R"("num_parallel_tree":"2",)");
  CHECK(score(parallel) == 2);
  for (const std::string& bad :
       {stopped("4", ""), stopped("x", ""), stopped("-1", ""), stopped("99999999999", ""),
        stopped("3", R"(,"iteration_indptr":[0,2,3,4])"), stopped("0", R"(,"iteration_indptr":[0,5])"),
        stopped("0", R"(,"iteration_indptr":[0,-1])")})
    CHECK_THROWS_AS(xgboost_of(bad), CorruptFile);
  // Attributes may come after the trees.
  std::string late = stopped("1", "");
  const std::string attributes = R"("attributes":{"best_iteration":"1"},)";
  late.erase(late.find(attributes), attributes.size());
  late.insert(late.find(R"("learner_model_param")"), attributes);
  CHECK(score(late) == 2);
}

TEST_CASE("XGBoost's sums start with the margin of its base score", "[rankers]") {
  CHECK(base_of("5E-1") == 0.5);
  CHECK(base_of("[5E-1]") == 0.5);
  CHECK(base_of(" [ 2.5E-1 ] ") == 0.25);
  CHECK(base_of("5E-1", "binary:logistic") == 0);
  CHECK(base_of("2E-1", "reg:logistic") == static_cast<double>(-std::log(1 / 0.2f - 1)));
  CHECK(base_of("2E-1", "binary:logitraw") == static_cast<double>(0.2f));
  CHECK(base_of("5E-1", "count:poisson") == static_cast<double>(std::log(0.5f)));
  CHECK(base_of("5E-1", "reg:squarederror") == 0.5);
  CHECK_THROWS_AS(base_of("0E0", "binary:logistic"), CorruptFile);
  CHECK_THROWS_AS(base_of("-1", "count:poisson"), CorruptFile);
  CHECK_THROWS_AS(base_of("[1,2]"), CorruptFile);
  CHECK_THROWS_AS(base_of(""), CorruptFile);
}

TEST_CASE("XGBoost's dart multiplies leaves in float32", "[rankers]") {
  const RankerModel model = xgboost_of(
      xgboost_with({{R"("gradient_booster":{"model")", R"("gradient_booster":{"gbtree":{"model")"},
                    {R"("name":"gbtree"})", R"("name":"gbtree"},"name":"dart","weight_drop":[3.3333334E-1]})"},
                    {"-1,1]", "0.1,1]"}}));
  CHECK(std::get<TreeEnsemble>(model.function).leaves == std::vector<double>{0.1f * 0.33333334f, 0.33333334f});
  CHECK_THROWS_WITH(
      xgboost_of(xgboost_with({{R"("gradient_booster":{"model")", R"("gradient_booster":{"gbtree":{"model")"},
                               {R"("name":"gbtree"})", R"("name":"gbtree"},"name":"dart","weight_drop":[1,2]})"}})),
      Catch::Contains("weight_drop has 2 numbers for 1 trees"));
}

TEST_CASE("XGBoost's models of other kinds are refused by name", "[rankers]") {
  const auto refused = [](std::initializer_list<std::pair<std::string, std::string>> changes, const char* why) {
    CHECK_THROWS_AS(xgboost_of(xgboost_with(changes)), InvalidArgument);
    CHECK_THROWS_WITH(xgboost_of(xgboost_with(changes)), Catch::Contains(why));
  };
  refused({{R"("num_class":"0")", R"("num_class":"3")"}}, "3 classes");
  refused({{R"("num_target":"1")", R"("num_target":"2")"}}, "2 targets");
  refused({{R"("size_leaf_vector":"0")", R"("size_leaf_vector":"2")"}}, "several values");
  refused({{R"("name":"gbtree")", R"("name":"gblinear")"}}, "gblinear");
  refused(
      {{R"("attributes":{})", R"("attributes":{"scikit_learn":"{\"kwargs\": {\"missing\": 1}, \"missing\": 0.0}"})"}},
      "value 0 for a missing one");
  CHECK_NOTHROW(
      xgboost_of(xgboost_with({{R"("attributes":{})", R"("attributes":{"scikit_learn":"{\"missing\": NaN}"})"}})));
}

TEST_CASE("XGBoost's models that contradict themselves are refused", "[rankers]") {
  const std::pair<const char*, const char*> changes[] = {{"\"left_children\":[1", "\"left_children\":[0"},
                                                         {"\"left_children\":[1", "\"left_children\":[3"},
                                                         {"\"left_children\":[1", "\"left_children\":[2"},
                                                         {"\"left_children\":[1", "\"left_children\":[1.5"},
                                                         {"\"left_children\":[1", "\"left_children\":[-2"},
                                                         {"\"right_children\":[2", "\"right_children\":[-1"},
                                                         {"\"right_children\":[2,-1,-1]", "\"right_children\":[2,-1]"},
                                                         {"[5E-1,-1,1]", "[NaN,-1,1]"},
                                                         {"[5E-1,-1,1]", "[-Infinity,-1,1]"},
                                                         {"[5E-1,-1,1]", "[5E-1,-1,NaN]"},
                                                         {"[5E-1,-1,1]", "[5E-1,-1,1e39]"},
                                                         {"[5E-1,-1,1]", "[5E-1,-1]"},
                                                         {"[5E-1,-1,1]", "[5E-1,-1,1-1]"},
                                                         {"[4,0,0]", "[-4,0,0]"},
                                                         {"[4,0,0]", "[99999999999,0,0]"},
                                                         {"\"split_type\":[0,0,0]", "\"split_type\":[1,0,0]"},
                                                         {"\"split_type\":[0,0,0]", "\"split_type\":[0]"},
                                                         {"\"categories_nodes\":[]", "\"categories_nodes\":[0]"},
                                                         {"\"left_children\":[1,-1,-1]", "\"left_children\":[]"},
                                                         {"\"feature_names\":[]", "\"feature_names\":[\"a\"]"},
                                                         {"\"name\":\"gbtree\"", "\"name\":\"gbforest\""},
                                                         {"\"num_class\":\"0\"", "\"num_class\":\"x\""},
                                                         {"\"num_trees\":\"1\"", "\"num_trees\":\"2\""},
                                                         {"\"id\":0", "\"left_children\":[1],\"id\":0"},
                                                         {"\"objective\":{\"name\":\"rank:ndcg\"}", "\"objective\":{}"},
                                                         {"\"version\"", "\"version"}};
  for (const auto& [from, to] : changes) {
    INFO(to);
    CHECK_THROWS_AS(xgboost_of(xgboost_with({{from, to}})), CorruptFile);
  }
  CHECK_THROWS_AS(xgboost_of(R"({"learner":{)"), CorruptFile);
  CHECK_THROWS_AS(xgboost_of(R"({"learner":{}})"), CorruptFile);
  std::string deep = R"({"learner":)";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  CHECK_THROWS_WITH(xgboost_of(deep), Catch::Contains("deeper"));
}

TEST_CASE("XGBoost's dumps are read by their ids, and damaged ones refused", "[rankers]") {
  const std::string text =
      "booster[0]:\n0:[bm25<0.5] yes=7,no=3,missing=3,gain=1,cover=2\n\t7:leaf=-1,cover=1\n"
      "\t3:[f9:{1,4}] yes=5,no=4,missing=4\n\t\t5:leaf=2\n\t\t4:leaf=3\nbooster[1]:\n0:leaf=0.25\n";
  const RankerModel model = parse_ranker({"dump.txt", text});
  CHECK(model.features == std::vector<ModelFeature>{{"f9", 9}, {"bm25", ModelFeature::no_number}});
  CHECK(plain_score(model, {4, 0}) == -0.75);
  CHECK(plain_score(model, {4, 0.5f}) == 2.25);
  CHECK(plain_score(model, {0, 0.5f}) == 3.25);
  CHECK(plain_score(model, {missing_value, missing_value}) == 3.25);
  // Without headings, each node 0 begins a tree.
  CHECK(std::get<TreeEnsemble>(parse_ranker({"dump.txt", "0:leaf=1\n0:leaf=2\n"}).function).trees() == 2);
  for (const char* bad :
       {"0:[a<1] yes=1,no=2\n1:leaf=1\n", "0:[a<1] yes=1,no=1\n1:leaf=1\n", "0:[a<1] yes=0,no=1\n1:leaf=1\n",
        "0:[a] yes=1,no=2\n1:leaf=1\n2:leaf=1\n", "0:[a<x] yes=1,no=2\n1:leaf=1\n2:leaf=1\n",
        "0:[a<1] yes=1,no=2,missing=3\n1:leaf=1\n2:leaf=1\n", "0:leaf=x\n", "0:leaf=nan\n", "0:leaf=1\n1:leaf=1\n",
        "0:[a<-inf] yes=1,no=2\n1:leaf=1\n2:leaf=1\n", "0:[a:{1,x}] yes=1,no=2\n1:leaf=1\n2:leaf=1\n", "booster[0]:\n",
        "0:leaf=1\nnode\n", "booster[0]:\n1:leaf=1\n"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_ranker({"dump.txt", bad}), CorruptFile);
  }
  const std::string leaf = R"({"nodeid":1,"leaf":1})";
  for (const std::string& bad :
       {std::string(R"([{"nodeid":0,"leaf":1},1])"), std::string(R"([{"nodeid":0,"split":"a","split_condition":1}])"),
        R"([{"nodeid":0,"split":"a","split_condition":1,"yes":1,"no":2,"children":[)" + leaf + "]}]",
        R"([{"nodeid":0,"split":"a","split_condition":1,"yes":1,"no":2,"children":[)" + leaf + "," + leaf + "]}]",
        R"([{"nodeid":0,"split":"a","yes":1,"no":1,"children":[)" + leaf + "]}]",
        std::string(R"([{"nodeid":0,"leaf":1,"children":{}}])"), std::string(R"([{"nodeid":0,"leaf":"x"}])"),
        std::string(R"([{"nodeid":0,"leaf":true}])"), std::string(R"([{"nodeid":0,"leaf":1})")}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_ranker({"dump.json", bad}), CorruptFile);
  }
}

TEST_CASE("a chain of 100,000 nodes of a dump in JSON is read", "[rankers]") {
  constexpr int nodes = 100'000;
  std::string begin = "[", end;
  for (int i = 0; i < nodes; ++i) {
    const std::string id = std::to_string(2 * i), leaf = std::to_string(2 * i + 1), next = std::to_string(2 * i + 2);
    begin += R"({"nodeid":)" + id + R"(,"split":"a","split_condition":)" + std::to_string(nodes - i) + R"(,"yes":)" +
             next + R"(,"no":)" + leaf + R"(,"children":[{"nodeid":)" + leaf + R"(,"leaf":)" + std::to_string(i) + "},";
    end += "]}";
  }
  begin += R"({"nodeid":)" + std::to_string(2 * nodes) + R"(,"leaf":-1})";
  const RankerModel model = parse_ranker({"dump.json", begin + end + "]"});
  CHECK(std::get<TreeEnsemble>(model.function).nodes.size() == nodes);
  CHECK(plain_score(model, {0}) == -1);
  CHECK(plain_score(model, {1e9f}) == 0);
}

TEST_CASE("JSON is read value by value", "[rankers]") {
  CHECK(written_json(R"( {"a" : [1, -2.5e1 ,"x",true,false,null,{}], "b":{"c":[]}} )") ==
        "{a:[1.000000,-25.000000,'x'TFZ{}]b:{c:[]}}");
  CHECK(written_json("\"a\\n\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\\\\\\"\\/\"") ==
        "'a\nA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\\"/'");
  CHECK(written_json(R"(["\ud800", "\ud800\u0041"])") == "['\xEF\xBF\xBD''\xEF\xBF\xBD\x41']");
  for (const char* bad :
       {"",    "{",   "[",   "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}",     "[1]]", "[1}",
        "1 2", "nul", "tru", "-",    "+1",    ".5",      "\"a",      "\"\\x\"",    "\"\\u12\"", "\"\\"}) {
    INFO(bad);
    CHECK_THROWS_AS(written_json(bad), CorruptFile);
  }
}

TEST_CASE("UBJSON is read value by value, and lengths beyond its end are refused", "[rankers]") {
  using std::string;
  using namespace std::string_literals;
  CHECK(written_ubjson("{U\1a[$U#i\2\x01\xffU\1bSi\1xi\1cTi\1dZi\1ei\xff}") ==
        "{a:[1.000000,255.000000,]b:'x'c:Td:Ze:-1.000000,}");
  CHECK(written_ubjson("[#U\3I\xff\xfel\0\1\0\0L\0\0\0\0\0\0\0\5"s) == "[-2.000000,65536.000000,5.000000,]");
  CHECK(written_ubjson("[d\x3f\x80\0\0D\xbf\xf0\0\0\0\0\0\0HU\3"s + "1.5CxN[]]") ==
        "[1.000000,-1.000000,1.500000,'x'[]]");
  CHECK(written_ubjson("{$d#U\1U\1k\x3f\x80\0\0"s) == "{k:1.000000,}");
  CHECK(written_ubjson("[$[#U\1]"s) == "[[]]");
  for (const string& bad : {""s,
                            "["s,
                            "{"s,
                            "[#"s,
                            "[#U"s,
                            "[#U\5"s,
                            "[#i\xff"s,
                            "[#L\x7f\xff\xff\xff\xff\xff\xff\xff"s,
                            "[$d#L\0\0\0\0\x40\0\0\0"s,
                            "[$Z#l\x7f\xff\xff\xff"s,
                            "[$T#U\1"s,
                            "[$d"s,
                            "[$dU\1"s,
                            "SU\5ab"s,
                            "[Q]"s,
                            "[}"s,
                            "ZZ"s,
                            "d\0\0"s,
                            "{U\1"s,
                            "N"s}) {
    INFO(bad);
    CHECK_THROWS_AS(written_ubjson(bad), CorruptFile);
  }
}

}  // namespace quern
