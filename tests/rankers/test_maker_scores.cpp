#include <algorithm>

#include "quern/formats/rankers/model_format.hpp"
#include "quern/rank/models/ranker.hpp"

#include "catch.hpp"
#include "rankers/plain_scores.hpp"

/// Models trained by LightGBM and XGBoost, compared bit for bit with their predictions; see data/README.md.
namespace quern {
namespace {

using namespace testing;

struct MadeModel {
  std::string file, format, scores;
};

std::vector<std::string> numbered_names(const std::string& prefix) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

/// Names of the input columns in models with feature names.
std::vector<std::string> column_names(const std::string& file) {
  if (file.find("zeros") != file.npos)
    return {"title.bm25", "body.bm25", "f3", "f4", "f5", "f6", "f7", "f8", "kind", "host"};
  return file.find("poisson") != file.npos ? numbered_names("signal") : std::vector<std::string>();
}

/// A ranker's scores of these documents, as one batch.
std::vector<double> scores_of(const Ranker& ranker, const std::vector<FeatureRow>& rows) {
  constexpr std::size_t group = FeatureColumns::documents_per_group;
  const std::size_t stride = (rows.size() + group - 1) / group * group;
  std::vector<float> values(rows.front().size() * stride);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t feature = 0; feature < rows[row].size(); ++feature)
      values[feature * stride + row] = rows[row][feature];
  std::vector<double> scores(rows.size());
  ranker.score({values.data(), rows.size(), stride}, scores);
  return scores;
}

void check_scores(const MadeModel& made, bool is_float) {
  INFO(made.file);
  const RankerModel model = read_ranker(ranker_data(made.file));
  CHECK(model.format == made.format);
  const std::vector<FeatureRow> inputs = model_inputs();
  const auto scores = number_rows(ranker_data(made.scores));
  REQUIRE(scores.size() >= 50);
  std::vector<FeatureRow> rows;
  for (std::size_t i = 0; i < scores.size(); ++i) rows.push_back(row_for(model, inputs[i], column_names(made.file)));
  const std::vector<double> fast = scores_of(*make_ranker(model), rows),
                            plain = scores_of(*make_plain_ranker(model), rows);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    INFO(i);
    const double score = plain_score(model, rows[i]);
    // XGBoost's scores are float32 written with nine digits.
    const double expected = is_float ? static_cast<double>(static_cast<float>(scores[i][0])) : scores[i][0];
    CHECK(score == expected);
    CHECK(fast[i] == expected);
    CHECK(plain[i] == expected);
  }
}

}  // namespace

TEST_CASE("models of LightGBM give its own scores, bit for bit", "[rankers]") {
  for (const char* name : {"lambdarank", "dart", "forest", "binary", "zeros", "constant", "frame"}) {
    const std::string file = std::string("lightgbm-") + name + "-4.7";
    check_scores({file + ".txt", "lightgbm", file + ".scores"}, false);
  }
  for (const std::string file : {"lightgbm-zeros-4.7", "lightgbm-frame-4.7"})
    check_scores({file + ".json", "lightgbm-json", file + ".scores"}, false);
}

TEST_CASE("models of XGBoost give its own scores, bit for bit", "[rankers]") {
  for (const MadeModel& made : {MadeModel{"xgboost-ndcg-3.2.json", "xgboost-json", "xgboost-ndcg-3.2.scores"},
                                MadeModel{"xgboost-ndcg-2.1.json", "xgboost-json", "xgboost-ndcg-2.1.scores"},
                                MadeModel{"xgboost-poisson-3.2.json", "xgboost-json", "xgboost-poisson-3.2.scores"},
                                MadeModel{"xgboost-frame-3.2.json", "xgboost-json", "xgboost-frame-3.2.scores"},
                                MadeModel{"xgboost-frame-3.2.ubj", "xgboost-ubjson", "xgboost-frame-3.2.scores"},
                                MadeModel{"xgboost-dart-3.2.ubj", "xgboost-ubjson", "xgboost-dart-3.2.scores"},
                                MadeModel{"xgboost-logistic-3.2.ubj", "xgboost-ubjson", "xgboost-logistic-3.2.scores"}})
    check_scores(made, true);
}

TEST_CASE("dumps of XGBoost have the trees of its model", "[rankers]") {
  const RankerModel whole = read_ranker(ranker_data("xgboost-ndcg-3.2.json"));
  for (const std::string extension : {"json", "txt"}) {
    INFO(extension);
    RankerModel dump = read_ranker(ranker_data("xgboost-ndcg-3.2.dump." + extension));
    CHECK(dump.format == (extension == "json" ? "xgboost-json-dump" : "xgboost-text-dump"));
    CHECK(dump.features == whole.features);
    auto& trees = std::get<TreeEnsemble>(dump.function);
    CHECK(trees.base == 0);
    trees.base = std::get<TreeEnsemble>(whole.function).base;
    // Nine digits are enough for each float32.
    CHECK((trees == std::get<TreeEnsemble>(whole.function)));
  }
}

TEST_CASE("LightGBM's text and JSON have the same trees", "[rankers]") {
  const RankerModel text = read_ranker(ranker_data("lightgbm-zeros-4.7.txt"));
  const RankerModel json = read_ranker(ranker_data("lightgbm-zeros-4.7.json"));
  CHECK(text.features == json.features);
  CHECK((std::get<TreeEnsemble>(text.function) == std::get<TreeEnsemble>(json.function)));
}

}  // namespace quern
