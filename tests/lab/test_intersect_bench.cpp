#include "quern/core/error.hpp"
#include "quern/lab/query_bench.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "search/read_queries.hpp"

namespace quern {
namespace {

using namespace testing;

/// A method that finds nothing, which a benchmark must reject.
void lose_all(std::vector<docid_t>& common, std::span<const docid_t>, const IntersectionOptions&) { common.clear(); }

}  // namespace

TEST_CASE("intersections are measured only if all methods find the same documents", "[measure][intersect]") {
  Pipeline pipeline;
  const CollectionReader collection(
      pipeline.parse("{\"id\":\"a\",\"contents\":\"water mill\"}\n{\"id\":\"b\",\"contents\":\"mill\"}\n"));
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  std::vector<Intersection> intersections;
  for (const IntersectionMethod& method : all_intersection_methods())
    intersections.emplace_back(index, method, IntersectionOptions{});
  const ParsedQueries read = read_all(intersections.front(), std::vector<std::string_view>{"mill water", "mill"});
  NoProgress progress;
  const auto figures = measure_intersections(read.views(), intersections, 3, progress);
  REQUIRE(figures.size() == intersections.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    CHECK(figures[i].intersection == &intersections[i]);
    CHECK(figures[i].queries == 2);
    CHECK(figures[i].results == 3);
    CHECK(figures[i].counts.postings == 5);
    CHECK(figures[i].times.mean_us > 0);
    CHECK(figures[i].postings_per_second() > 0);
  }
  CHECK_THROWS_AS(measure_intersections({}, intersections, 3, progress), InvalidArgument);
  CHECK_THROWS_AS(measure_intersections(read.views(), intersections, 0, progress), InvalidArgument);

  const IntersectionMethod broken = {"broken", "", lose_all, nullptr};
  intersections.emplace_back(index, broken, IntersectionOptions{});
  CHECK_THROWS_WITH(measure_intersections(read.views(), intersections, 3, progress),
                    Catch::Contains("broken finds different documents for \"mill water\""));
}

}  // namespace quern
