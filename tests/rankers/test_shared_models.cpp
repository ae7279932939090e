#include <filesystem>

#include "quern/formats/rankers/model_format.hpp"

#include "catch.hpp"
#include "rankers/plain_scores.hpp"

/// Larger third-party models, not part of the sources: microsoft/LightGBM's ranking data with a model trained by
/// XGBoost's command line, the test data of dmitryikh/leaves, and the models of o19s' Elasticsearch plugin.
namespace quern {
namespace {

using namespace testing;

std::string shared_ltr(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/../shared/data/ltr/" + name;
}

/// Whether this machine has the models.
bool has_shared_models() {
  if (std::filesystem::exists(shared_ltr("README.md"))) return true;
  WARN("skipped: no shared/data/ltr beside the sources");
  return false;
}

/// Rows "label qid:n index:value …" by feature number; absent values are missing.
std::vector<FeatureRow> letor_rows(const std::string& path) {
  std::ifstream in(path);
  std::vector<FeatureRow> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    FeatureRow row(301, missing_value);
    std::string word;
    words >> word >> word;
    while (words >> word) {
      const std::size_t colon = word.find(':');
      row.at(std::stoul(word.substr(0, colon))) = std::strtof(word.c_str() + colon + 1, nullptr);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("XGBoost's scores of a LETOR file are reproduced bit for bit", "[rankers]") {
  if (!has_shared_models()) return;
  const RankerModel model = read_ranker(shared_ltr("xgboost/xgb-rank.json"));
  const std::vector<FeatureRow> rows = letor_rows(shared_ltr("lgb-test.letor"));
  const auto scores = number_rows(shared_ltr("xgboost/xgb-rank.test.pred"));
  REQUIRE(rows.size() == 768);
  REQUIRE(scores.size() == rows.size());
  CHECK(std::get<TreeEnsemble>(model.function).base == 0.5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(i);
    CHECK(static_cast<float>(plain_score(model, row_for(model, rows[i]))) == static_cast<float>(scores[i][0]));
  }
  for (const char* name : {"xgboost/xgb-rank.dump.json", "xgboost/xgb-rank.dump.txt"}) {
    const RankerModel dump = read_ranker(shared_ltr(name));
    CHECK(std::get<TreeEnsemble>(dump.function).leaves == std::get<TreeEnsemble>(model.function).leaves);
    CHECK((std::get<TreeEnsemble>(dump.function).nodes == std::get<TreeEnsemble>(model.function).nodes));
  }
}

TEST_CASE("leaves' breast cancer models give their accompanying predictions", "[rankers]") {
  if (!has_shared_models()) return;
  const std::string folder = "lightgbm-models/";
  const auto values = [](const std::vector<double>& row) { return FeatureRow(row.begin(), row.end()); };
  const auto rows = number_rows(shared_ltr(folder + "breast_cancer_test.tsv"));
  const auto predicted = number_rows(shared_ltr(folder + "lg_dart_breast_cancer_true_predictions.txt"));
  REQUIRE(rows.size() == 57);
  REQUIRE(predicted.size() == rows.size());
  for (const char* name : {"lg_dart_breast_cancer.model", "lg_dart_breast_cancer.json"}) {
    const RankerModel dart = read_ranker(shared_ltr(folder + name));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      INFO(i);
      // The values are probabilities with all digits.
      const double score = plain_score(dart, row_for(dart, values(rows[i])));
      CHECK(1 / (1 + std::exp(-score)) == predicted[i][0]);
    }
  }
  // For the other model, the leaf numbers are known; the file has their values.
  const std::string path = shared_ltr(folder + "lg_breast_cancer.txt");
  const RankerModel gbdt = read_ranker(path);
  std::vector<std::vector<double>> leaf_values;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("leaf_value=", 0) != 0) continue;
    std::istringstream words(line.substr(11));
    leaf_values.emplace_back();
    for (double value = 0; words >> value;) leaf_values.back().push_back(value);
  }
  const auto data = number_rows(shared_ltr(folder + "lg_breast_cancer_data.txt"));
  const auto leaves = number_rows(shared_ltr(folder + "lg_breast_cancer_data_pred_leaves.txt"));
  REQUIRE(data.size() == leaves.size());
  const auto& trees = std::get<TreeEnsemble>(gbdt.function);
  REQUIRE(leaf_values.size() == trees.trees());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const FeatureRow row = row_for(gbdt, values(data[i]));
    for (std::uint64_t tree = 0; tree < trees.trees(); ++tree) {
      INFO(i << ", tree " << tree);
      CHECK(trees.leaves[leaf_of(trees, tree, row)] == leaf_values[tree].at(static_cast<std::size_t>(leaves[i][tree])));
    }
  }
}

TEST_CASE("the models of o19s' plugin have the trees that they declare", "[rankers]") {
  if (!has_shared_models()) return;
  const RankerModel lambdamart = read_ranker(shared_ltr("ranklib/lambdaMART.txt.gz"));
  CHECK(std::get<TreeEnsemble>(lambdamart.function).trees() == 1000);
  CHECK(std::get<TreeEnsemble>(lambdamart.function).leaves.size() == 10000);
  const RankerModel forest = read_ranker(shared_ltr("ranklib/randomForest.txt.gz"));
  CHECK(std::get<TreeEnsemble>(forest.function).group_ends.size() == 300);
  CHECK(plain_score(read_ranker(shared_ltr("ranklib/coord_ascent.txt")), {3, 5}) == 4);
  const RankerModel wikipedia = read_ranker(shared_ltr("xgboost/o19s-xgboost-wmf.json.gz"));
  CHECK(wikipedia.features.size() == 8);
  CHECK(wikipedia.features[0] == ModelFeature{"title", ModelFeature::no_number});
}

}  // namespace quern
