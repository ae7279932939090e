#include <set>

#include "quern/core/error.hpp"
#include "quern/gpu/worker/strategy.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("strategies have distinct names, range first, and are found by them", "[gpu_strategy]") {
  std::set<std::string_view> names;
  for (const gpu::Strategy& strategy : gpu::all_strategies()) {
    CHECK(names.insert(strategy.name).second);
    CHECK(&gpu::strategy_named(strategy.name) == &strategy);
    CHECK(gpu::strategies_help().find(strategy.description) != std::string::npos);
  }
  CHECK(gpu::all_strategies().front().name == "range");
  CHECK_THROWS_AS(gpu::strategy_named("none"), InvalidArgument);
}

TEST_CASE("strategies refuse algorithms that they don't support, by name and with a remedy", "[gpu_strategy]") {
  const gpu::Strategy& wang = gpu::strategy_named("wang");
  std::vector<const QueryAlgorithm*> all;
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    all.push_back(&algorithm);
    const QueryAlgorithm* const one[] = {&algorithm};
    for (const gpu::Strategy& strategy : gpu::all_strategies()) {
      INFO(strategy.name << ", " << algorithm.name);
      const bool answered = strategy.name != "wang" || algorithm.matching == Matching::all;
      CHECK(gpu::answers(strategy, algorithm) == answered);
      if (answered)
        CHECK_NOTHROW(gpu::check_answers(strategy, one));
      else
        CHECK_THROWS_WITH(gpu::check_answers(strategy, one),
                          std::string("the strategy wang answers `and` only; choose another strategy, or ") +
                              option_name<"algorithm"> + " and");
    }
  }
  CHECK_NOTHROW(gpu::check_answers(wang, all));
}

TEST_CASE("threads that options set are whole warps of a thread block", "[gpu_strategy]") {
  for (const unsigned number : {32u, 64u, 96u, 512u}) CHECK(gpu::are_block_threads(number));
  for (const unsigned number : {0u, 1u, 31u, 33u, 544u}) CHECK_FALSE(gpu::are_block_threads(number));
}

}  // namespace quern
