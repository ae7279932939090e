#include "quern/core/error.hpp"
#include "quern/plan/schedule_simulation.hpp"

#include "catch.hpp"

/// Streams of queries from files of times.
namespace quern {
namespace {

QueryTime row(std::uint64_t query, Processor device, std::uint64_t batch, double us) {
  QueryTime time;
  time.query = query;
  time.device = device;
  time.algorithm = "and";
  time.k = 10;
  time.batch = batch;
  time.us = us;
  if (device == Processor::gpu) time.strategy = "range";
  time.features = {2, 5, 100 * query, 5 + 100 * query, 3 + query, device == Processor::gpu ? 8 * query : 0};
  return time;
}

QueryTimeTable table(std::vector<QueryTime> rows) {
  QueryTimeTable times;
  times.name = "times";
  times.index_hash = "ab";
  times.rows = std::move(rows);
  return times;
}

const StreamChoice by_and{"and", "range", 10};

}  // namespace

TEST_CASE("streams have the times of both devices, and the overhead of a batch", "[schedule]") {
  const std::vector<QueryTimeTable> times = {
      table({row(2, Processor::cpu, 1, 30), row(1, Processor::cpu, 1, 20)}),
      table({row(1, Processor::gpu, 1, 50), row(2, Processor::gpu, 1, 60), row(1, Processor::gpu, 16, 9),
             row(2, Processor::gpu, 16, 9), row(1, Processor::gpu, 256, 2), row(2, Processor::gpu, 256, 4)})};
  const MeasuredStream stream = measured_stream(times, by_and, nullptr);
  CHECK(stream.has_cpu);
  CHECK(stream.has_gpu);
  // A batch of 16 takes 144 us, of which 96 are overhead.
  CHECK(stream.gpu_overhead.us(16) == Approx(16 * (9 - 3)));
  // More than the overhead of a single query.
  CHECK(stream.gpu_overhead.us(1) == Approx(55 - 3));
  CHECK(stream.gpu_overhead.us(136) == Approx(48));
  CHECK(stream.gpu_overhead.us(256) == 0);
  CHECK(stream.gpu_overhead.us(257) == 0);
  for (const std::size_t size : {1, 16, 256}) CHECK(stream.gpu_latency.us(size) == 0);
  CHECK(stream.expected_batch_us() == stream.gpu_overhead.us(1));
  REQUIRE(stream.queries.size() == 2);
  const SimulatedQuery& second = stream.queries[1];
  CHECK(stream.queries[0].cpu_us == 20);
  CHECK(second.cpu_us == 30);
  CHECK(second.gpu_us == 4);
  CHECK(second.waiting.expected_cpu_us == 30);
  CHECK(second.waiting.expected_gpu_us == 4);
  CHECK(second.waiting.blocks == 5);
  CHECK(second.waiting.missing_bytes == 16);

  CostTable costs = fit_costs(times);
  for (CostFunction& function : costs.functions) {
    function.tree.nodes = {{}};
    // 2^6 = 64 us for all queries, or 2^3 in the largest batches.
    function.tree.nodes[0].model.constant = function.batch == 256 ? 3 : 6;
    function.tree.nodes[0].lowest = 0;
    function.tree.nodes[0].highest = 9;
  }
  const CostModel model(costs);
  const MeasuredStream predicted = measured_stream(times, by_and, &model);
  CHECK(predicted.queries[1].waiting.expected_cpu_us == Approx(64));
  CHECK(predicted.queries[1].waiting.expected_gpu_us == Approx(8));
  CHECK(predicted.queries[1].gpu_us == second.gpu_us);
}

TEST_CASE("rates determine how long batches keep a GPU busy; the rest of their time is overhead", "[schedule]") {
  // The third was not measured alone, and takes long in any batch.
  std::vector<QueryTimeTable> times = {
      table({row(1, Processor::gpu, 1, 50), row(2, Processor::gpu, 1, 60), row(1, Processor::gpu, 4, 20),
             row(2, Processor::gpu, 4, 20), row(3, Processor::gpu, 4, 50), row(1, Processor::gpu, 16, 8),
             row(2, Processor::gpu, 16, 10), row(3, Processor::gpu, 16, 30)})};
  // A batch of 4 keeps the GPU busy for 40 us of 120, one of 16 for 64 of 256, and a single query like 4.
  times[0].rates = {{"and", "range", 10, 4, 1e5}, {"and", "range", 10, 16, 2.5e5}, {"or", "range", 10, 16, 1},
                    {"and", "ding", 10, 16, 1},   {"and", "range", 20, 16, 1},     {"and", "range", 10, 64, 1}};
  const MeasuredStream stream = measured_stream(times, by_and, nullptr);
  CHECK(stream.gpu_overhead.us(16) == 0);
  CHECK(stream.gpu_latency.us(16) == Approx(256 - 64));
  CHECK(stream.gpu_overhead.us(4) == Approx(40 - 4 * 4));
  CHECK(stream.gpu_latency.us(4) == Approx(120 - 40));
  CHECK(stream.gpu_overhead.us(1) == stream.gpu_overhead.us(4));
  // The first two add a quarter of 8 and 10 to a batch.
  CHECK(stream.gpu_latency.us(1) == Approx((48 + 57.5) / 2 - 24));
  CHECK(stream.expected_batch_us() == Approx((48 + 57.5) / 2));
  for (std::size_t i = 0; i < 3; ++i) CHECK(stream.queries[i].gpu_us == Approx(times[0].rows[5 + i].us / 4));
  // No batch keeps the GPU busy for longer than it takes.
  times[0].rates = {{"and", "range", 10, 4, 1}, {"and", "range", 10, 16, 2}};
  const MeasuredStream slow = measured_stream(times, by_and, nullptr);
  CHECK(slow.gpu_latency.us(4) == 0);
  CHECK(slow.queries[2].gpu_us == 30);
}

TEST_CASE("only queries that ran alone determine the overhead of a single query", "[schedule]") {
  // The third takes long in any batch.
  const std::vector<QueryTimeTable> times = {
      table({row(1, Processor::gpu, 1, 50), row(2, Processor::gpu, 1, 60), row(1, Processor::gpu, 256, 2),
             row(2, Processor::gpu, 256, 4), row(3, Processor::gpu, 256, 900)})};
  CHECK(measured_stream(times, by_and, nullptr).expected_batch_us() == Approx((48 + 56) / 2.0));
}

TEST_CASE("without larger batches, the shortest time of a single query is the overhead", "[schedule]") {
  const std::vector<QueryTimeTable> times = {table({row(1, Processor::gpu, 1, 50), row(2, Processor::gpu, 1, 80)})};
  const MeasuredStream stream = measured_stream(times, by_and, nullptr);
  CHECK_FALSE(stream.has_cpu);
  CHECK(stream.gpu_latency.us(7) == 50);
  CHECK(stream.gpu_overhead.us(7) == 0);
  CHECK(stream.queries[0].gpu_us == 0);
  CHECK(stream.queries[1].gpu_us == 30);
}

TEST_CASE("times that don't belong together are refused", "[schedule]") {
  const std::vector<QueryTimeTable> only_cpu = {table({row(1, Processor::cpu, 1, 20)})};
  CHECK(measured_stream(only_cpu, by_and, nullptr).expected_batch_us() == 0);
  CHECK_THROWS_WITH(measured_stream(only_cpu, {"or", "range", 10}, nullptr), Catch::Contains("no times for or"));
  CHECK_THROWS_AS(measured_stream(only_cpu, {"and", "range", 20}, nullptr), InvalidArgument);
  std::vector<QueryTimeTable> both = {only_cpu[0], table({row(2, Processor::gpu, 1, 50)})};
  CHECK_THROWS_WITH(measured_stream(both, by_and, nullptr), Catch::Contains("different queries"));
  both[1] = table({row(1, Processor::gpu, 1, 50)});
  CHECK(measured_stream(both, by_and, nullptr).has_gpu);
  CHECK_FALSE(measured_stream(both, {"and", "wang", 10}, nullptr).has_gpu);
  both[1].index_hash = "cd";
  CHECK_THROWS_WITH(measured_stream(both, by_and, nullptr), Catch::Contains("a different index"));
}

}  // namespace quern
