#include <limits>

#include "quern/core/error.hpp"
#include "quern/core/named.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

#include "catch.hpp"
#include "corpus/compressing.hpp"
#include "corpus/temporary_folder.hpp"
#include "rankers/plain_scores.hpp"

/// Detection of formats, and invariants of models.
namespace quern {
namespace {

using namespace testing;

/// A tree of two nodes and three leaves, the second node on the right.
RankerModel three_leaves() {
  TreeEnsemble trees;
  trees.inputs = {{0, TreeInputKind::value, {}}};
  trees.nodes = {{1, 0, -1, 1, false}, {2, 0, -2, -3, true}};
  trees.leaves = {1, 2, 3};
  trees.first_node = {0, 2};
  trees.first_leaf = {0, 3};
  return {"test", {{"a", 1}}, 0, trees};
}

}  // namespace

TEST_CASE("each model in the tests' data has one format, by its first bytes", "[rankers]") {
  for (const auto& [file, name] :
       {std::pair{"lightgbm-dart-4.7.txt", "lightgbm"}, std::pair{"lightgbm-zeros-4.7.json", "lightgbm-json"},
        std::pair{"xgboost-ndcg-3.2.json", "xgboost-json"}, std::pair{"xgboost-dart-3.2.ubj", "xgboost-ubjson"},
        std::pair{"xgboost-ndcg-3.2.dump.json", "xgboost-json-dump"},
        std::pair{"xgboost-ndcg-3.2.dump.txt", "xgboost-text-dump"}}) {
    std::ifstream in(ranker_data(file), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string_view head = std::string_view(bytes).substr(0, model_detection_bytes);
    for (const ModelFormat* format : all_model_formats()) {
      INFO(file << " " << format->name);
      CHECK(format->detect(head) == (format->name == name));
    }
    // Compression doesn't change the model.
    const TemporaryFolder folder;
    const RankerModel plain = read_ranker(ranker_data(file)),
                      gzip = read_ranker(folder.write("model.gz", gzipped(bytes)));
    CHECK(plain.features == gzip.features);
    CHECK((std::get<TreeEnsemble>(plain.function) == std::get<TreeEnsemble>(gzip.function)));
    // Nor does a byte order mark, in a text.
    if (std::string_view(name) != "xgboost-ubjson") {
      const RankerModel marked = read_ranker(folder.write("marked", "\xef\xbb\xbf" + bytes));
      CHECK(plain.features == marked.features);
      CHECK((std::get<TreeEnsemble>(plain.function) == std::get<TreeEnsemble>(marked.function)));
    }
    // Truncated files must be refused, except text dumps, which have no end mark.
    if (std::string_view(name) == "xgboost-text-dump") continue;
    for (const std::size_t size : {bytes.size() / 3, bytes.size() / 2, bytes.size() - 40}) {
      INFO(size);
      CHECK_THROWS_AS(parse_ranker({"cut", std::string_view(bytes).substr(0, size)}), Error);
    }
  }
}

TEST_CASE("a file that is not a model is refused with the names of formats", "[rankers]") {
  CHECK_THROWS_WITH(parse_ranker({"x", "hello"}), Catch::Contains("lightgbm, lightgbm-json, xgboost-json"));
  CHECK_THROWS_WITH(parse_ranker({"x", ""}), Catch::Contains("unknown model format"));
  CHECK_THROWS_WITH(parse_ranker({"x", "binf\x01\x02"}), Catch::Contains("save_model"));
  CHECK_THROWS_AS(read_ranker("/nothing/there"), IoError);
}

TEST_CASE("features have the numbers in their names", "[rankers]") {
  for (const char* name : {"12", "f12", "Column_12"}) CHECK(named_feature(name) == ModelFeature{name, 12});
  CHECK(named_feature("0").number == 0);
  for (const char* name :
       {"", "f", "Column_", "bm25", "f012", "f-1", "12.5", "feature12", "f4294967296", "column_12", "F12"})
    CHECK(named_feature(name) == ModelFeature{name, ModelFeature::no_number});
}

TEST_CASE("thresholds are the largest float32 on their side", "[rankers]") {
  constexpr float max = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
  CHECK(greatest_float_up_to(0.5) == 0.5f);
  CHECK(greatest_float_up_to(0.1) == std::nextafterf(0.1f, 0));
  CHECK(greatest_float_up_to(-0.1) == -0.1f);
  CHECK(greatest_float_up_to(1e39) == max);
  CHECK(greatest_float_up_to(static_cast<double>(max) * 1.0000000001) == max);
  CHECK(greatest_float_up_to(-static_cast<double>(max) * 1.0000000001) == -inf);
  CHECK(greatest_float_up_to(-static_cast<double>(max)) == -max);
  CHECK(greatest_float_up_to(static_cast<double>(inf)) == inf);
  CHECK(greatest_float_up_to(-static_cast<double>(inf)) == -inf);
  CHECK(greatest_float_up_to(1e-60) == 0);
  CHECK(greatest_float_up_to(-1e-60) == -std::numeric_limits<float>::denorm_min());
  CHECK(greatest_float_below(0.0f) == -std::numeric_limits<float>::denorm_min());
  CHECK(greatest_float_below(inf) == max);
}

TEST_CASE("numbers are rounded, and read whole or not at all", "[rankers]") {
  float single = 0;
  double number = 0;
  std::int64_t integer = 0;
  CHECK((read_number("1e-50", single) && single == 0));
  CHECK((read_number("-1e50", single) && single == -std::numeric_limits<float>::infinity()));
  CHECK((read_number("1e-310", number) && number == 1e-310));
  CHECK((read_number("16777217", single) && single == 16777216));
  CHECK((read_number("-7", integer) && integer == -7));
  for (const char* bad : {"", " 1", "1 ", "+1", "0x10", "1e", "--1", "1,5"}) CHECK_FALSE(read_number(bad, number));
  for (const char* bad : {"9223372036854775808", "1.0", "1e3"}) CHECK_FALSE(read_number(bad, integer));
}

TEST_CASE("invalid models are detected", "[rankers]") {
  CHECK_NOTHROW(check_model(three_leaves(), "m"));
  const auto refused = [](auto&& change, const char* why) {
    RankerModel model = three_leaves();
    change(model, std::get<TreeEnsemble>(model.function));
    CHECK_THROWS_WITH(check_model(model, "m"), Catch::Matchers::StartsWith("m: ") && Catch::Contains(why));
  };
  constexpr float nan = missing_value;
  refused([](auto&, TreeEnsemble& t) { t.nodes[0].right = 0; }, "tree 0: node 0 has the child 0");
  refused([](auto&, TreeEnsemble& t) { t.nodes[1].left = 0; }, "node 1 has the child 0");
  refused([](auto&, TreeEnsemble& t) { t.nodes[0].left = 1; }, "another parent");
  refused([](auto&, TreeEnsemble& t) { t.nodes[0].right = 2; }, "the child 2");
  refused([](auto&, TreeEnsemble& t) { std::swap(t.nodes[1].left, t.nodes[1].right); }, "order");
  refused([](auto&, TreeEnsemble& t) { t.nodes[1].right = -2; }, "order");
  refused([](auto&, TreeEnsemble& t) { t.nodes[1].right = std::numeric_limits<std::int32_t>::min(); }, "order");
  refused([](auto&, TreeEnsemble& t) { t.nodes[0].right = -2; }, "does not reach all");
  refused([nan](auto&, TreeEnsemble& t) { t.nodes[1].threshold = nan; }, "threshold of node 1");
  refused([](auto&, TreeEnsemble& t) { t.nodes[1].input = 1; }, "node 1 has an input");
  refused([](auto&, TreeEnsemble& t) { t.leaves[2] = std::numeric_limits<double>::infinity(); }, "leaf");
  refused([](auto&, TreeEnsemble& t) { t.leaves.pop_back(); }, "nodes or leaves outside");
  refused([](auto&, TreeEnsemble& t) { t.first_node = {0, 1}; }, "nodes or leaves outside");
  refused([](auto&, TreeEnsemble& t) { t = TreeEnsemble(); }, "no trees");
  refused([](auto&, TreeEnsemble& t) { t.group_ends = {2}; }, "groups");
  refused([](auto&, TreeEnsemble& t) { t.base = std::numeric_limits<double>::quiet_NaN(); }, "base score");
  refused([](auto&, TreeEnsemble& t) { t.inputs[0].categories = {1}; }, "categories");
  refused([](RankerModel& m, TreeEnsemble&) { m.features.clear(); }, "uses feature 0, but there are only 0 features");
}

}  // namespace quern
