#include <vector>

#include "quern/formats/queries/run_file.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"

namespace quern {

TEST_CASE("the worked example of the page about files of features holds", "[features][format]") {
  const std::vector<float> values{0.5f, 3, 1e-10f, 0.1f};
  const FeatureColumns columns{values.data(), 2, 2};
  const std::string lines = letor_line({2, "7", "D-1", columns, 0}, 2) + letor_line({0, "7", "D 2", columns, 1}, 2);
  CHECK(lines == testing::page_block("queries/letor_file.md", "lines"));
}

TEST_CASE("features in JSON have names, and texts are quoted", "[features]") {
  const std::vector<float> values{0.5f, 3};
  const FeatureColumns columns{values.data(), 1, 1};
  const std::vector<std::string> names{"body.bm25", "url.\"odd\""};
  CHECK(letor_json({-1, "q\\1", "D\"1", columns, 0}, names) ==
        "{\"qid\":\"q\\\\1\",\"docno\":\"D\\\"1\",\"label\":-1,\"features\":{\"body.bm25\":0.5,\"url.\\\"odd\\\"\":3}}"
        "\n");
}

}  // namespace quern
