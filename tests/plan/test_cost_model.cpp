#include <cmath>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/plan/cost_model.hpp"

#include "catch.hpp"

/// Costs of queries: fitted, tested on other times, looked up, and built in.
namespace quern {
namespace {

QueryFeatures random_features(RandomBits& random) {
  QueryFeatures drawn;
  drawn.terms = 1 + random.below(5);
  drawn.shortest = 1 + random.below(std::uint64_t{1} << (4 + random.below(12)));
  drawn.second = drawn.terms > 1 ? drawn.shortest + random.below(100000) : 0;
  drawn.postings =
      drawn.shortest + drawn.second + (drawn.terms > 2 ? (drawn.terms - 2) * (drawn.second + random.below(100000)) : 0);
  return drawn;
}

/// Times of 2 + postings / 1000 us for `or`, and the square root of the shortest list for `and`.
QueryTimeTable some_times(std::uint64_t seed, std::size_t queries) {
  RandomBits random(seed);
  QueryTimeTable times;
  times.name = "times" + std::to_string(seed);
  times.index_hash = "ab";
  times.cpu = "a CPU";
  for (std::size_t i = 0; i < queries; ++i) {
    QueryTime row;
    row.query = i + 1;
    row.k = 10;
    row.batch = 1;
    row.features = random_features(random);
    row.algorithm = "or";
    row.us = 2 + static_cast<double>(row.features.postings) / 1000;
    times.rows.push_back(row);
    row.algorithm = "and";
    row.us = std::sqrt(static_cast<double>(row.features.shortest));
    times.rows.push_back(row);
  }
  return times;
}

}  // namespace

TEST_CASE("costs are fitted by device, algorithm, strategy, k and batch, and tested on other queries", "[schedule]") {
  QueryTimeTable train = some_times(1, 3000);
  for (QueryTime row : some_times(2, 500).rows) {
    row.device = Processor::gpu;
    row.strategy = "range";
    row.us = 50;
    train.rows.push_back(row);
    row.batch = 256;
    row.us = 1;
    train.rows.push_back(row);
  }
  const QueryTimeTable test = some_times(3, 1000);
  const CostTable table = fit_costs({&train, 1});
  CHECK(table.index_hash == "ab");
  CHECK(table.cpu == "a CPU");
  REQUIRE(table.functions.size() == 2 + 4);
  for (std::size_t i = 0; i < 2; ++i) {
    const CostError error = test_costs(table.functions[i], {&test, 1});
    CHECK(error.queries == 1000);
    CHECK(error.error < 0.05);
    std::uint64_t queries = 0;
    double weighted = 0;
    for (const CostClass& cost_class : error.classes)
      queries += cost_class.queries, weighted += cost_class.error * static_cast<double>(cost_class.queries);
    CHECK(queries == 1000);
    CHECK(weighted / 1000 == Approx(error.error));
    CHECK(error.classes.size() > 2);
  }
  CHECK(test_costs(table.functions[2], {&test, 1}).queries == 0);

  const CostModel model(table);
  const auto us = [&](Processor device, const char* algorithm, const char* strategy, std::size_t k, std::size_t batch) {
    return model.expected_us({device, algorithm, strategy, k, batch}, test.rows[0].features);
  };
  CHECK(us(Processor::cpu, "or", "", 10, 1) == Approx(test.rows[0].us).epsilon(0.1));
  CHECK(us(Processor::cpu, "or", "", 1000, 1) == us(Processor::cpu, "or", "", 10, 1));
  CHECK(us(Processor::gpu, "or", "range", 10, 1) == Approx(50));
  CHECK(us(Processor::gpu, "or", "range", 10, 200) == Approx(1));
  // Not in the table: built in.
  CHECK(model.find({Processor::gpu, "or", "ding", 10, 1}) == nullptr);
  CHECK(us(Processor::gpu, "or", "ding", 10, 1) >= 50);
}

TEST_CASE("a written table of costs predicts the same after reading", "[schedule][format]") {
  const QueryTimeTable times = some_times(4, 2000);
  const CostTable table = fit_costs({&times, 1});
  const CostTable read = parse_cost_table(cost_table_text(table), "costs");
  REQUIRE(read.functions.size() == table.functions.size());
  for (const QueryTime& row : times.rows)
    for (std::size_t i = 0; i < table.functions.size(); ++i)
      CHECK(cost_us(read.functions[i], row.features) == cost_us(table.functions[i], row.features));
}

TEST_CASE("times of different indexes, scorings or devices are not mixed", "[schedule]") {
  const QueryTimeTable first = some_times(5, 20);
  for (auto member :
       {&QueryTimeTable::index_hash, &QueryTimeTable::scoring, &QueryTimeTable::cpu, &QueryTimeTable::gpu}) {
    std::vector<QueryTimeTable> both = {first, first};
    both[0].*member = "one";
    both[1].*member = "other";
    both[1].name = "second.tsv";
    CHECK_THROWS_WITH(fit_costs(both), Catch::Matchers::StartsWith("second.tsv is from a different "));
    // A file may lack values that the other has.
    both[0].*member = "";
    CHECK(fit_costs(both).functions.size() == 2);
  }
  CHECK_THROWS_AS(fit_costs({}), InvalidArgument);
}

TEST_CASE("if times have rates, costs are the time that queries add to consecutive batches", "[schedule]") {
  QueryTimeTable times = some_times(7, 500);
  double sum_us = 0;
  for (QueryTime row : some_times(8, 500).rows) {
    row.device = Processor::gpu;
    row.strategy = "range";
    row.batch = 16;
    if (row.algorithm == "or") sum_us += row.us;
    times.rows.push_back(row);
  }
  const CostTable alone = fit_costs({&times, 1});
  // The rate of `or` is twice what its times imply; other rates don't matter.
  times.rates.push_back({"or", "range", 10, 16, 2e6 * 500 / sum_us});
  times.rates.push_back({"or", "ding", 10, 16, 1});
  times.rates.push_back({"or", "range", 11, 16, 1e9});
  const CostTable joining = fit_costs({&times, 1});
  REQUIRE(joining.functions.size() == alone.functions.size());
  for (std::size_t i = 0; i < joining.functions.size(); ++i) {
    const CostFunction& function = joining.functions[i];
    const bool halved = function.device == Processor::gpu && function.algorithm == "or";
    for (const QueryTime& row : times.rows)
      CHECK(cost_us(function, row.features) ==
            Approx(cost_us(alone.functions[i], row.features) * (halved ? 0.5 : 1)).epsilon(1e-6));
    CHECK(test_costs(function, {&times, 1}).error < 0.05);
  }
  // The last of several matching rates counts.
  times.rates.push_back(times.rates.front());
  times.rates.front().per_second *= 2;
  CHECK(cost_us(fit_costs({&times, 1}).functions[2], times.rows[0].features) ==
        Approx(cost_us(joining.functions[2], times.rows[0].features)));
  // A rate lower than the times imply means that nothing overlaps.
  for (BatchRate& rate : times.rates) rate.per_second = 1;
  const CostTable serial = fit_costs({&times, 1});
  for (std::size_t i = 0; i < alone.functions.size(); ++i)
    CHECK(cost_us(serial.functions[i], times.rows[0].features) ==
          Approx(cost_us(alone.functions[i], times.rows[0].features)));
}

TEST_CASE("a correction converges to the queries' times for any prediction, and ignores a few stalls", "[schedule]") {
  RandomBits random(6);
  for (const double real : {0.01, 1.0, 30.0}) {
    CostCorrection correction;
    CHECK(correction.factor() == 1);
    for (unsigned i = 0; i < 1000; ++i) {
      const double predicted_us = 10 + static_cast<double>(random.below(1000));
      const bool stalls = random.below(50) == 0;
      correction.learn(predicted_us, real * predicted_us * (stalls ? 1000 : 1));
    }
    CHECK(correction.factor() > 0.8 * real);
    CHECK(correction.factor() < 1.25 * real);
    // Even if all predictions were made before the first answer.
    for (unsigned i = 0; i < 10000; ++i) correction.learn(100, 1.2 * 100);
    CHECK(correction.factor() == Approx(1.2));
  }
}

TEST_CASE("built-in costs grow with the lists, and batches share a GPU's fixed costs", "[schedule]") {
  const CostModel model;
  QueryFeatures small, large;
  small.postings = 10;
  large.postings = 1000000;
  for (const Processor device : {Processor::cpu, Processor::gpu})
    CHECK(model.expected_us({device, "or", "", 10, 1}, small) < model.expected_us({device, "or", "", 10, 1}, large));
  CHECK(model.expected_us({Processor::cpu, "or", "", 10, 1}, small) <
        model.expected_us({Processor::gpu, "or", "range", 10, 1}, small));
  CHECK(model.expected_us({Processor::cpu, "or", "", 10, 1}, large) >
        model.expected_us({Processor::gpu, "or", "range", 10, 1}, large));
  CHECK(model.expected_us({Processor::gpu, "or", "range", 10, 256}, small) <
        model.expected_us({Processor::gpu, "or", "range", 10, 1}, small) / 40);
  // An intersection takes long if its shortest list is long.
  large.terms = small.terms = 2;
  large.shortest = 100000;
  for (const Processor device : {Processor::cpu, Processor::gpu}) {
    CHECK(model.expected_us({device, "and", "", 10, 1}, small) < model.expected_us({device, "and", "", 10, 1}, large));
    small.postings = large.postings;
    CHECK(model.expected_us({device, "or", "", 10, 1}, small) == model.expected_us({device, "or", "", 10, 1}, large));
  }
}

}  // namespace quern
