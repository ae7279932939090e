#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "quern/core/error.hpp"
#include "quern/rank/features/feature_families.hpp"
#include "quern/rank/features/feature_list.hpp"

#include "catch.hpp"

namespace quern {
namespace {

/// Rows of the tables of formats/features.md that describe features: name, kind and formula.
std::map<std::string, std::pair<std::string, std::string>> page_rows() {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/formats/features.md");
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::vector<std::string> cells;
    std::size_t at = 2;
    for (std::size_t end = line.find(" |", at); end != std::string::npos; at = end + 3, end = line.find(" |", at))
      cells.push_back(line.substr(at, end - at));
    REQUIRE(cells.size() == 3);
    rows[cells[0].substr(1, cells[0].size() - 2)] = {cells[1], cells[2]};
  }
  return rows;
}

}  // namespace

TEST_CASE("there are at least 120 features, each with its own name", "[features]") {
  std::set<std::string> names;
  for (const Feature& feature : all_features()) names.insert(feature.name);
  CHECK(names.size() == all_features().size());
  CHECK(names.size() >= 120);
}

TEST_CASE("the page about features lists all of them with their own descriptions", "[features][format]") {
  auto rows = page_rows();
  std::set<std::string> met;
  for (const Feature& feature : all_features()) {
    const std::size_t dot = feature.name.find('.');
    const std::string group = feature.name.substr(0, dot);
    const bool is_of_stream = group == "title" || group == "body" || group == "url" || group == "anchor";
    const std::string name = is_of_stream ? feature.name.substr(dot + 1) : feature.name;
    INFO(feature.name);
    REQUIRE(rows.contains(name));
    CHECK(rows[name].first == name_of(feature.kind));
    CHECK(rows[name].second == feature.formula);
    met.insert(name);
  }
  CHECK(met.size() == rows.size());
}

TEST_CASE("features are chosen by names and patterns", "[features]") {
  const auto names_of = [](std::string_view choice) {
    std::vector<std::string> names;
    for (const std::uint32_t feature : select_features(choice)) names.push_back(all_features()[feature].name);
    return names;
  };
  CHECK(select_features("all").size() == all_features().size());
  CHECK(names_of("query.idf_sum,title.length") == std::vector<std::string>{"query.idf_sum", "title.length"});
  CHECK(names_of("*.bm25") == std::vector<std::string>{"title.bm25", "body.bm25", "url.bm25", "anchor.bm25"});
  CHECK(names_of("body.bm25,*.bm25").size() == 4);
  CHECK(names_of("*y.len*th") == std::vector<std::string>{"body.length", "query.length"});
  CHECK(names_of("first_stage.*") == std::vector<std::string>{"first_stage.score"});
  for (const char* wrong : {"", "body", "body.bm25,", "body.bm2", "nothing.*", "body.bm25x", "*x*x*x"})
    CHECK_THROWS_AS(select_features(wrong), InvalidArgument);
}

}  // namespace quern
