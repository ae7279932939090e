#include <map>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/weight_array.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/rank/models/transformation.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/page_example.hpp"
#include "rankers/plain_scores.hpp"

/// Descriptions of networks, and the files of weights and trees that they name.
namespace quern {
namespace {

using namespace testing;

const std::string ranker_head = "[ranker]\nversion = 1\n";

RankerModel described(const std::string& text) { return parse_ranker({"rank.ini", text}); }

float value_of(const std::map<std::string, float>& values, const std::string& name) {
  return values.count(name) > 0 ? values.at(name) : missing_value;
}

double score_of(const RankerModel& model, const std::map<std::string, float>& values) {
  FeatureRow row;
  for (const ModelFeature& feature : model.features) row.push_back(value_of(values, feature.name));
  return plain_score(model, row);
}

/// A NumPy file, version 1, with this header and these bytes.
std::string npy_file(const std::string& head, const std::string& bytes) {
  std::string file = "\x93NUMPY";
  file += '\1';
  file += '\0';
  file += static_cast<char>(head.size() & 255);
  file += static_cast<char>(head.size() >> 8);
  return file + head + bytes;
}

template <class Number>
std::string bytes_of_numbers(const std::vector<Number>& numbers) {
  Bytes bytes;
  for (const Number number : numbers) put_le(bytes, number);
  return std::string(as_text(bytes));
}

std::string safetensors_file(const std::string& head, const std::string& bytes) {
  Bytes file;
  put_le(file, std::uint64_t{head.size()});
  return std::string(as_text(file)) + head + bytes;
}

}  // namespace

TEST_CASE("the example on the page of descriptions can be read, and scores what the page says", "[rankers]") {
  const std::string text = page_block("rankers/description.md", "description");
  REQUIRE_FALSE(text.empty());
  const RankerModel model = described(text);
  CHECK(model.format == "description");
  const auto& network = std::get<NetworkModel>(model.function);
  REQUIRE(network.transformations.size() == 3);
  CHECK(network.transformations[0].kind == TransformationKind::linear);
  CHECK(network.transformations[0].p1 == 1.5f);
  CHECK(network.transformations[0].p2 == 0.25f);
  CHECK(network.transformations[1].kind == TransformationKind::log_linear);
  CHECK(network.transformations[2].kind == TransformationKind::bucket);
  CHECK(network.trees.trees() == 2);
  CHECK(network.trees.leaves == std::vector<double>{-0.5, 0.25, 1, 1});
  REQUIRE(network.layers.size() == 2);
  CHECK(network.layers[0].outputs == 2);
  CHECK(network.layers[0].activation == Activation::relu);
  CHECK(network.layers[1].activation == Activation::none);
  CHECK(score_of(model, {{"title.bm25", 2.0f},
                         {"body.length", 0.0f},
                         {"url.depth", 2.0f},
                         {"body.bm25", 4.0f},
                         {"title.matched", 1.0f}}) == 2);
  // A missing value goes to the tree's default side, or to the right.
  const FeatureRow nothing(model.features.size(), missing_value);
  CHECK(network.trees.leaves[leaf_of(network.trees, 0, nothing)] == 0.25);
}

TEST_CASE("trees in descriptions nest on both sides, with and without parentheses", "[rankers]") {
  const auto trees_of = [](const std::string& tree) {
    const RankerModel model = described(ranker_head + "[inputs]\ntree = " + tree + "\n[layer.1]\nweights = 1\n");
    return std::get<NetworkModel>(model.function).trees;
  };
  const TreeEnsemble flat = trees_of("a <= 1 ? b <= 2 ? 1 : 2 : c <= 3 ? 3 : 4");
  CHECK(flat.leaves == std::vector<double>{1, 2, 3, 4});
  CHECK((trees_of("(a <= 1 ? (b <= 2 ? (1) : 2) : (c <= 3 ? 3 : ((4))))") == flat));
  CHECK(flat.nodes[0].left == 1);
  CHECK(flat.nodes[0].right == 2);
  CHECK(flat.nodes[2].threshold == 3);
  // A threshold between two float32 is the lower one.
  CHECK(trees_of("a <= 0.1 ? 1 : 2").nodes[0].threshold == std::nextafterf(0.1f, 0));
  CHECK(trees_of("12 <= -1e-3 or missing ? 1 : 2").nodes[0].missing_left);
  for (const char* bad :
       {"", "a", "a <= 1", "a <= 1 ? 2", "a <= 1 ? 2 :", "a <= 1 ? 2 : 3 4", "(1", "1)", "a < 1 ? 2 : 3",
        "a <= x ? 1 : 2", "a <= 1 or ? 1 : 2", "a <= nan ? 1 : 2", "inf", "a <= 1 ? : 2", "? 1 : 2"}) {
    INFO(bad);
    CHECK_THROWS_WITH(trees_of(bad), Catch::Matchers::StartsWith("rank.ini, line 4: "));
  }
  // As deep as a line is long: the parser doesn't recurse.
  std::string chain, open;
  for (int i = 0; i < 100'000; ++i) {
    chain += "a <= 1 ? 2 : ";
    open += "(";
  }
  CHECK(trees_of(chain + "3").leaves.size() == 100'001);
  CHECK_THROWS_AS(trees_of(open), CorruptFile);
}

TEST_CASE("free-form inputs are expressions of several features", "[rankers]") {
  const auto value_of_input = [](const std::string& expression) {
    const RankerModel model =
        described(ranker_head + "[inputs]\nfree-form = " + expression + "\n[layer.1]\nweights = 1\n");
    FeatureRow row;
    for (const ModelFeature& feature : model.features)
      row.push_back(feature.name == "a" ? 3.0f : feature.name == "f2" ? 8.0f : 0.5f);
    float score = 0;
    const auto& made = std::get<NetworkModel>(model.function).transformations.at(0);
    score = expression_value(made.expression.data(), static_cast<std::uint32_t>(made.expression.size()),
                             [&](std::uint32_t feature) { return row.at(feature); });
    std::vector<float> columns(row.size() * FeatureColumns::documents_per_group);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = row[i / FeatureColumns::documents_per_group];
    double ranked = 0;
    make_ranker(model)->score({columns.data(), 1, FeatureColumns::documents_per_group}, {&ranked, 1});
    CHECK(static_cast<float>(ranked) == score);
    return score;
  };
  CHECK(value_of_input("a + f2 * b.c") == 7);
  CHECK(value_of_input("(a + f2) * b.c") == 5.5f);
  CHECK(value_of_input("a - f2 - b.c") == -5.5f);
  CHECK(value_of_input("f2 / a / b.c") == 8.0f / 3 / 0.5f);
  CHECK(value_of_input("--a*-f2") == -24);
  CHECK(value_of_input("a * 1e-1 + .5e+1") == 3.0f * 1e-1f + 5);
  CHECK(value_of_input("min(a, f2) - max(a, max(f2, 9))") == -6);
  CHECK(value_of_input("sqrt(abs(-a * 3))") == 3);
  CHECK(value_of_input("log(exp(a)) + sigmoid(a - a) + tanh(0 * a)") == 3.5f);
  const std::pair<std::string, const char*> bad_expressions[] = {
      {"", "ends where a number, a feature or a function was expected"},
      {"a +", "ends where"},
      {"a b", "unexpected 'b'"},
      {"square a 1 2", "unexpected 'a'"},
      {"1 + 2", "needs a feature"},
      {"(a", "ends where ')' was expected"},
      {"min(a)", "found ')' where ',' was expected"},
      {"abs(a, a)", "found ',' where ')' was expected"},
      {"cube(a)", "unknown function 'cube': use one of abs, sqrt, log"},
      {"a * 1x", "'1x' is not a finite number"},
      {"a * 1e99", "'1e99' is not a finite number"},
      {std::string(200, '-') + "a", "too many parentheses or signs"},
      {"a" +
           [] {
             std::string all;
             for (int i = 0; i < 20; ++i) all += "+(a";
             return all + std::string(20, ')');
           }(),
       "16 intermediate values"},
      {"a" +
           [] {
             std::string all;
             for (int i = 0; i < 600; ++i) all += "*a";
             return all;
           }(),
       "at most 1000 numbers"},
  };
  for (const auto& [expression, why] : bad_expressions) {
    INFO(expression);
    CHECK_THROWS_WITH(value_of_input(expression),
                      Catch::Matchers::StartsWith("rank.ini, line 4: ") && Catch::Contains(why));
  }
}

TEST_CASE("descriptions name files of trees and of weights", "[rankers]") {
  const TemporaryFolder folder;
  folder.write("trees.txt",
               "<ensemble><tree id=\"1\" weight=\"0.5\"><split><feature> 7 </feature><threshold> 2 </threshold>"
               "<split pos=\"left\"><output> 3 </output></split><split pos=\"right\"><output> 4 </output></split>"
               "</split></tree></ensemble>");
  const std::string two = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n";
  folder.write("one.npy", npy_file(two, bytes_of_numbers<float>({1, 2, 3, 4})));
  folder.write(
      "net.safetensors",
      safetensors_file(R"({"__metadata__":{"by":"hand"},"b":{"dtype":"F16","shape":[1],"data_offsets":[8,10]},)"
                       R"("w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
                       bytes_of_numbers<float>({10, 100}) + bytes_of_numbers<std::uint16_t>({0xc000})));
  const std::string path = folder.write("rank.ini", ranker_head +
                                                        "[inputs]\nlinear = 7\ntrees = trees.txt\n[layer.1]\n"
                                                        "weights = one.npy\n[layer.2]\nweights = net.safetensors:w\n"
                                                        "bias = net.safetensors:b\n");
  const RankerModel model = read_ranker(path);
  REQUIRE(model.features.size() == 1);
  CHECK(model.features[0].number == 7);
  // The matrix is stored column by column: (1, 3) and (2, 4). Inputs are 5 and 4 · 0.5.
  CHECK(plain_score(model, {5}) == (5 + 3 * 2) * 10 + (2 * 5 + 4 * 2) * 100 - 2);
  CHECK_THROWS_AS(described(ranker_head + "[inputs]\ntrees = trees.txt\n"), CorruptFile);  // there are no other files
  const auto with = [&](const std::string& lines) { return read_ranker(folder.write("bad.ini", ranker_head + lines)); };
  CHECK_THROWS_WITH(with("[inputs]\ntrees = bad.ini\n"), Catch::Contains("is not a file of trees"));
  CHECK_THROWS_AS(with("[inputs]\ntrees = nothing.txt\n"), IoError);
  CHECK_THROWS_WITH(with("[inputs]\nlinear = 7\n[layer.1]\nweights = net.safetensors:c\n"),
                    Catch::Contains("no tensor 'c'; it has b, w"));
}

TEST_CASE("descriptions that contradict themselves are refused with the line", "[rankers]") {
  const std::string sound = ranker_head + "[inputs]\nlinear = a\nlinear = b\n[layer.1]\nweights = 1 2\n";
  CHECK_NOTHROW(described(sound));
  const std::pair<const char*, const char*> bad_lines[] = {
      {"[ranker]\nversion = 2\n", "rank.ini, line 2: "},
      {"[ranker]\n[inputs]\nlinear = a\n[layer.1]\nweights = 1\n", "rank.ini: has no version"},
      {"[ranker]\nversion = 1\n", "rank.ini: has no [inputs]"},
      {"[ranker]\nversion = 1\n[]\n", "rank.ini, line 3: "},
      {"[ranker]\nversion = 1\nnonsense\n", "rank.ini, line 3: "},
      {"[ranker]\nversion = 1\n%invalid_line%\n", "rank.ini, line 3: "},
      {"[ranker]\nversion = 1\ncolour = red\n", "rank.ini, line 3: "},
      {"[ranker]\nversion = 1\n[inputs]\nsquare = a\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear =\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a 1 2 3\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a inf\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\nbucket = a 1\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\nbucket = a 1 nan\n", "rank.ini, line 4: "},
      {"[ranker]\nversion = 1\n[inputs]\ntree = 1\nlinear = a\n", "rank.ini, line 5: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n", "rank.ini: has no layers"},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.2]\nweights = 1\n", "rank.ini, line 6: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nbias = 1\n", "rank.ini: a layer has no weights"},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nweights = 1 2\n",
       "rank.ini, line 6: the last layer has 2"},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\nlinear = b\n[layer.1]\nweights = 1 2 3\n", "rank.ini, line 7: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nweights = 1\nbias = 1 2\n", "rank.ini, line 7: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nweights = 1\nactivation = step\n",
       "rank.ini, line 7: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nweights = 1\nweights = 1\n", "rank.ini, line 7: "},
      {"[ranker]\nversion = 1\n[inputs]\nlinear = a\n[layer.1]\nweights = a.txt\n", "rank.ini, line 6: "},
  };
  for (const auto& [text, start] : bad_lines) {
    INFO(text);
    CHECK_THROWS_WITH(described(text), Catch::Matchers::StartsWith(start));
  }
}

TEST_CASE("NumPy files are read in all types and orders", "[rankers]") {
  const auto head = [](const std::string& type, const std::string& order, const std::string& shape) {
    return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }   \n";
  };
  const std::string six = bytes_of_numbers<float>({1, 2, 3, 4, 5, 6});
  const WeightArray rows = read_npy(npy_file(head("<f4", "False", "(2, 3)"), six), "w.npy");
  CHECK(rows.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(rows.values == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(read_npy(npy_file(head("<f4", "True", "(2, 3)"), six), "w.npy").values == std::vector<float>{1, 3, 5, 2, 4, 6});
  CHECK(read_npy(npy_file(head("<f4", "True", "(6,)"), six), "w.npy").values == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(read_npy(npy_file(head("<f4", "False", "()"), bytes_of_numbers<float>({7})), "w.npy").values ==
        std::vector<float>{7});
  CHECK(read_npy(npy_file(head("<f8", "False", "(2,)"), bytes_of_numbers<double>({0.1, -3})), "w.npy").values ==
        std::vector<float>{0.1f, -3});
  // 1, -2, 65504, 2^-24 and -0 in half precision.
  const std::string halves = bytes_of_numbers<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x0400});
  CHECK(read_npy(npy_file(head("<f2", "False", "(6,)"), halves), "w.npy").values ==
        std::vector<float>{1, -2, 65504, 0x1p-24f, -0.0f, 0x1p-14f});
  const auto refused = [&](const std::string& file, const char* why) {
    CHECK_THROWS_WITH(read_npy(file, "w.npy"), Catch::Matchers::StartsWith("w.npy: ") && Catch::Contains(why));
  };
  refused(npy_file(head(">f4", "False", "(6,)"), six), "save float32");
  refused(npy_file(head("<i8", "False", "(3,)"), six), "save float32");
  refused(npy_file(head("<f4", "False", "(5,)"), six), "has 24 bytes for 5 numbers");
  refused(npy_file(head("<f4", "False", "(7,)"), six), "bytes");
  refused(npy_file(head("<f4", "False", "(4294967296, 4294967296, 4)"), six), "dimensions");
  refused(npy_file(head("<f4", "False", "(4294967296, 4294967296)"), six), "its size does not match its shape");
  refused(npy_file(head("<f4", "False", "(0,)"), ""), "its size does not match its shape");
  refused(npy_file(head("<f4", "Maybe", "(6,)"), six), "dictionary");
  refused(npy_file("{'descr': '<f4'}", six), "dictionary");
  refused(npy_file(head("<f4", "False", "(1,)"), bytes_of_numbers<float>({missing_value})), "not finite");
  refused(npy_file(head("<f8", "False", "(1,)"), bytes_of_numbers<double>({1e300})), "not finite");
  refused(npy_file(head("<f2", "False", "(1,)"), bytes_of_numbers<std::uint16_t>({0x7c00})), "not finite");
  refused("\x93NUMPY", "is not a NumPy file");
  refused(npy_file(head("<f4", "False", "(6,)"), six).substr(0, 40), "ends within its header");
}

TEST_CASE("safetensors that contradict themselves are refused", "[rankers]") {
  const auto read = [](const std::string& head, const std::string& bytes) {
    return read_safetensors(safetensors_file(head, bytes), "w.st", "w");
  };
  CHECK(read(R"({"w":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})", bytes_of_numbers<double>({2.5})).values ==
        std::vector<float>{2.5f});
  for (const char* head :
       {"", "[]", R"({"w":[1]})", R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} x)",
        R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
        R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
        R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
        R"({"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
        R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", R"({"w":{"dtype":"F32","shape":[[1]]}})",
        R"({"w":{"dtype":{"F32":1}}})", R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{}})"}) {
    INFO(head);
    CHECK_THROWS_AS(read(head, bytes_of_numbers<float>({1, 2})), CorruptFile);
  }
  CHECK_THROWS_AS(read(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "abcd"), InvalidArgument);
  CHECK_THROWS_AS(read_safetensors("1234567", "w.st", "w"), CorruptFile);
  CHECK_THROWS_AS(read_safetensors(std::string(8, '\xff') + "{}", "w.st", "w"), CorruptFile);
}

}  // namespace quern
