#include <cmath>

#include "quern/core/error.hpp"
#include "quern/formats/tables/query_times.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"

/// Cost tables: round trips, and errors that name bad lines.
namespace quern {
namespace {

const std::string costs_head = "#index\tff\nfunction\tcpu\tor\t-\t10\t1\t3\t0.5\n";
const std::string costs_leaf = "leaf\t0\t9\t1\t0\t0\t0\t0\t0\n";

}  // namespace

TEST_CASE("the example on the page of costs can be read, and predicts what the page says", "[format]") {
  const std::string text = testing::page_block("tables/cost_file.md", "costs");
  const CostTable table = parse_cost_table(text, "page");
  CHECK(table.index_hash == "0123456789abcdef");
  CHECK(table.cpu == "Some Processor");
  CHECK(table.gpu.empty());
  REQUIRE(table.functions.size() == 2);
  const CostFunction &first = table.functions[0], &second = table.functions[1];
  CHECK(first.device == Processor::cpu);
  CHECK(first.algorithm == "and");
  CHECK(first.strategy.empty());
  CHECK(first.k == 10);
  CHECK(first.batch == 1);
  CHECK(first.queries == 3000);
  CHECK(first.error == 0.145);
  CHECK(second.device == Processor::gpu);
  CHECK(second.strategy == "range");
  CHECK_FALSE(second.error.has_value());
  using std::log2;
  CHECK(std::exp2(first.tree.at({log2(3.0), log2(16.0), log2(323.0), log2(338.0), 0})) == Approx(8.485).epsilon(0.001));
  CHECK(first.tree.at({2, 7.5, 0, 0, 0}) == Approx(0.5 + 2 + 0.25 * 7.5));
  CHECK(first.tree.at({2, 8, 8, 8, 0}) == Approx(-1.5 + 6 + 1));
  CHECK(first.tree.at({0, 7.6, 0, 0, 0}) == 5);  // at least the leaf's lower bound
  CHECK(first.tree.at({9, 0, 0, 0, 0}) == 6);    // at most its upper bound
  CHECK(cost_table_text(table) == text);
}

TEST_CASE("costs read from a file are written as they were read", "[format]") {
  const CostTable table = parse_cost_table("#cpu\t Some Processor\r\r\n" + costs_head + costs_leaf, "costs");
  CHECK(table.cpu == "Some Processor");
  const std::string text = cost_table_text(table);
  CHECK(cost_table_text(parse_cost_table(text, "again")) == text);
}

TEST_CASE("invalid lines of costs are named", "[format]") {
  CHECK(parse_cost_table(costs_head + costs_leaf, "costs").functions.size() == 1);
  for (const char* bad :
       {"leaf\t0\t9\t1\t0\t0\t0\t0", "leaf\t0\t9\t1\t0\t0\t0\t0\t0\t0", "leaf\t9\t0\t1\t0\t0\t0\t0\t0",
        "leaf\t0\t65\t1\t0\t0\t0\t0\t0", "leaf\t-65\t6\t1\t0\t0\t0\t0\t0", "leaf\t0\t9\tnan\t0\t0\t0\t0\t0",
        "leaf\t0\t9\t1\tx\t0\t0\t0\t0", "split\tterms\t1\t0\t2", "split\tterms\t1\t1\t2", "split\tterms\t1\t2",
        "split\tlongest\t1\t2\t3", "split\tterms\tinf\t2\t3", "split\tterms\t1\t2\t4294967297",
        "function\tcpu\tor\t-\t0\t1\t3\t0.5", "function\ttpu\tor\t-\t1\t1\t3\t0.5", "branch\t1\t2"}) {
    INFO(bad);
    CHECK_THROWS_WITH(parse_cost_table(costs_head + costs_leaf + bad + "\n", "costs"),
                      Catch::Matchers::StartsWith("costs, line 4: "));
  }
  // Every tree must be complete, including the last.
  CHECK_THROWS_WITH(parse_cost_table(costs_head, "costs"), Catch::Contains("lacks nodes"));
  CHECK_THROWS_WITH(parse_cost_table(costs_head + "split\tterms\t1\t1\t2\n" + costs_leaf, "costs"),
                    Catch::Contains("lacks nodes"));
  CHECK_THROWS_WITH(parse_cost_table(costs_head + costs_head + costs_leaf, "costs"), Catch::Contains("lacks nodes"));
  CHECK_THROWS_WITH(parse_cost_table(costs_leaf, "costs"), Catch::Contains("costs, line 1: "));
  CHECK_THROWS_WITH(parse_cost_table("", "costs"), Catch::Contains("no functions"));
  CHECK_THROWS_WITH(parse_cost_table(costs_head.substr(costs_head.find('\n') + 1) + costs_leaf, "costs"),
                    Catch::Contains("does not name the index"));
}

TEST_CASE("weights of any size predict a finite cost", "[format]") {
  const CostTable table =
      parse_cost_table(costs_head + "leaf\t0\t9\t1e308\t1e308\t-1e308\t1e308\t-1e308\t-1e308\n", "costs");
  for (const double x : {0.0, 1.0, 64.0}) {
    const double value = table.functions[0].tree.at({x, x, x, x, x});
    CHECK(value >= 0);
    CHECK(value <= 9);
  }
}

}  // namespace quern
