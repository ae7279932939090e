#include <cmath>
#include <fstream>
#include <limits>

#include "quern/core/error.hpp"
#include "quern/plan/throughput_model.hpp"

#include "catch.hpp"

/// The throughput model of split memory, and its points.
namespace quern {
namespace {

/// c(n) = 10 + 200 / n us, t(S) = 1e-5 + 20 / S us per byte, dq falls from 4 MB without a cache to none with 4 GB.
MeasuredPoints exact_points() {
  MeasuredPoints points;
  for (const double n : {1.0, 10.0, 100.0, 10000.0}) points.query_us.push_back({n, 10 + 200 / n});
  for (const double bytes : {1e5, 1e7, 1e9}) points.transfer_us_per_byte.push_back({bytes, 1e-5 + 20 / bytes});
  points.transfer_bytes = {{4e9, 0}, {0, 4e6}};
  return points;
}

double throughput(double cache_bytes, double buffer_bytes) {
  const double bytes = 4e6 * (1 - cache_bytes / 4e9), n = std::min(1e4, buffer_bytes / bytes);
  return 1e6 / (10 + 200 / n + (1e-5 + 20 / buffer_bytes) * bytes);
}

}  // namespace

TEST_CASE("points of a sum of a constant and an inverse are fitted exactly", "[cache]") {
  const ThroughputModel model(exact_points());
  CHECK(model.query_us().base == Approx(10));
  CHECK(model.query_us().over_x == Approx(200));
  CHECK(model.transfer_us_per_byte().base == Approx(1e-5));
  CHECK(model.transfer_us_per_byte().over_x == Approx(20));
  CHECK(model.query_us().r_squared == Approx(1));
  CHECK_FALSE(model.query_us().is_poor());
  CHECK(model.transfer_bytes(1e9) == Approx(3e6));
  CHECK(model.transfer_bytes(9e9) == 0);
  CHECK(model.max_queries() == 10000);
}

TEST_CASE("with a link, bytes take the link's time, and each transfer the measured time", "[cache]") {
  MeasuredPoints points = exact_points();
  const ThroughputModel measured(points, TransferLink{50});
  CHECK(measured.transfer_us_per_byte().base == Approx(2e-5));  // 50,000 bytes a microsecond
  CHECK(measured.transfer_us_per_byte().over_x == Approx(20));
  CHECK(measured.query_us().over_x == Approx(200));
  points.transfer_us_per_byte.clear();
  CHECK_THROWS_WITH(ThroughputModel(points), Catch::Contains("no points of t"));
  const ThroughputModel unmeasured(points, TransferLink{50});
  CHECK(unmeasured.transfer_us_per_byte().at(1) == Approx(2e-5));
  // Without a cache, a query's 4 MB take 80 us, in addition to its 10 us and a ten thousandth of the batch's 200 us.
  const auto curve = throughput_curve(unmeasured, 1e12, std::numeric_limits<double>::infinity(), 1);
  CHECK(curve.front().cache_bytes == 0);
  CHECK(curve.front().queries_per_second == Approx(1e6 / (10 + 200 / 1e4 + 80)));
}

TEST_CASE("a fit never falls below 0, and reports when it is poor", "[cache]") {
  const InverseFit rising = fit_inverse({{1, 1}, {10, 100}, {100, 10000}});
  CHECK(rising.over_x == 0);
  CHECK(rising.base > 0);
  CHECK(rising.is_poor());
  const InverseFit steep = fit_inverse({{1, 100}, {2, 10}, {4, 1}});
  CHECK(steep.base == 0);
  CHECK(steep.over_x > 0);
  CHECK(steep.is_poor());
  // Equal relative distances from both.
  CHECK(fit_inverse({{5, 7}, {5, 9}}).base == Approx((1.0 / 7 + 1.0 / 9) / (1.0 / 49 + 1.0 / 81)));
  // 100 us for one query and 2 us in large batches weigh equally, although a constant and an inverse can't fit both.
  const InverseFit wide = fit_inverse({{1, 100}, {16, 12}, {256, 3}, {4096, 2}, {16384, 2}});
  CHECK(wide.at(16384) == Approx(2).epsilon(0.2));
  CHECK(wide.at(1) == Approx(100).epsilon(0.25));
  CHECK(fit_inverse({{5, 7}, {5, 9}}).is_poor());
  CHECK_THROWS_AS(fit_inverse({}), InvalidArgument);
  MeasuredPoints points = exact_points();
  points.transfer_bytes.clear();
  CHECK_THROWS_AS(ThroughputModel(points), InvalidArgument);
}

TEST_CASE("the curve has the largest buffer that meets the limit", "[cache][property]") {
  const ThroughputModel model(exact_points());
  for (const double limit_us : {std::numeric_limits<double>::infinity(), 5e4, 5e3}) {
    const auto curve = throughput_curve(model, 4e9, limit_us, 40);
    REQUIRE(curve.size() > 30);
    for (const MemorySplit& split : curve) {
      INFO("cache " << split.cache_bytes << ", limit " << limit_us);
      REQUIRE(split.cache_bytes + split.buffer_bytes <= 4e9);
      REQUIRE(split.response_us <= limit_us);
      REQUIRE(split.queries_per_second == Approx(throughput(split.cache_bytes, split.buffer_bytes)));
      // One percent more exceeds the memory or the limit.
      const double larger = split.buffer_bytes * 1.01;
      const double bytes = model.transfer_bytes(split.cache_bytes);
      const double n = std::min(1e4, larger / bytes);
      const double response_us = n * 1e6 / throughput(split.cache_bytes, larger);
      REQUIRE((split.cache_bytes + larger > 4e9 || response_us > limit_us));
    }
  }
  CHECK(throughput_curve(model, 4e9, 100, 40).empty());
}

namespace {

/// Of 10 + 200 / n us, the host takes 2 + 100 / n and the GPU 7 + 90 / n; 1 + 10 / n overlap with nothing. Half of a
/// transfer keeps the host busy.
MeasuredPoints overlapped_points() {
  MeasuredPoints points = exact_points();
  for (const double n : {1.0, 10.0, 100.0, 10000.0}) {
    points.host_us.push_back({n, 2 + 100 / n});
    points.gpu_us.push_back({n, 7 + 90 / n});
    points.alone_us.push_back({n, 1 + 10 / n});
  }
  for (const MeasuredPoint& point : points.transfer_us_per_byte)
    points.gather_us_per_byte.push_back({point.x, point.y / 2});
  return points;
}

}  // namespace

TEST_CASE("with overlap, a query takes as long as the longest stage", "[cache]") {
  StageTimes stages;
  stages.query = 10;
  stages.host = 2;
  stages.gpu = 7;
  stages.alone = 1;
  stages.transfer = 4;
  stages.gather = 3;
  CHECK(stages.in_turn_us() == 14);
  CHECK(stages.longest_us() == 7);
  CHECK(stages.overlapped_us() == 8);
  // Nothing else runs while the first of two batches is prepared and copied, and while the last is answered.
  CHECK(stages.overlapped_us(2) == 1 + 7 + (2 + 4) / 2.0);
  CHECK(stages.overlapped_us(1) == stages.in_turn_us());
  // In 4 windows each, a quarter of the shorter of transfer and work stays visible.
  CHECK(stages.overlapped_us(2, 4) ==
        stages.overlapped_us(2) - std::min(stages.transfer, stages.gpu) * (1 - 1 / 4.0) / 2);
  CHECK(stages.response_us() == 1 + 2 * 7);
  stages.transfer = 6;
  stages.gather = 5.5;
  CHECK(stages.longest_us() == 7.5);  // the host prepares a batch and gathers its lists
  stages.transfer = 20;
  CHECK(stages.longest_us() == 20);
  CHECK(stages.response_us() == 1 + 2 * 20);

  const ThroughputModel model(overlapped_points(), {}, StageOverlap::full);
  const StageTimes of_batch = model.stages(100, 4e8, 4e6);
  CHECK(of_batch.in_turn_us() == Approx(10 + 2 + (1e-5 + 20 / 4e8) * 4e6));
  CHECK(of_batch.overlapped_us() == Approx(1.1 + (1e-5 + 20 / 4e8) * 4e6));
  CHECK(model.stages(100, 4e8, 0).overlapped_us() == Approx(1.1 + 7.9));
  const MemorySplit all_cached = throughput_curve(model, 5e9, std::numeric_limits<double>::infinity(), 5).at(4);
  CHECK(all_cached.queries_per_second == Approx(1e6 / (1.001 + 7.009)));
  CHECK(all_cached.response_us == Approx(1e4 * (1.001 + 2 * 7.009)));
  // A faster link does not gather faster.
  const ThroughputModel linked(overlapped_points(), TransferLink{1e6}, StageOverlap::full);
  CHECK(linked.stages(100, 4e8, 4e6).transfer == Approx((5e-6 + 10 / 4e8) * 4e6));
  CHECK_THROWS_WITH(ThroughputModel(exact_points(), {}, StageOverlap::full), Catch::Contains("no points of c_host"));
}

TEST_CASE("written measured points are read back", "[cache][format]") {
  const MeasuredPoints written = overlapped_points();
  const MeasuredPoints read = parse_measured_points(measured_points_text(written), "text");
  for (const auto points : {&MeasuredPoints::query_us, &MeasuredPoints::transfer_us_per_byte,
                            &MeasuredPoints::transfer_bytes, &MeasuredPoints::host_us, &MeasuredPoints::gpu_us,
                            &MeasuredPoints::alone_us, &MeasuredPoints::gather_us_per_byte}) {
    REQUIRE((read.*points).size() == (written.*points).size());
    for (std::size_t i = 0; i < (read.*points).size(); ++i) {
      CHECK((read.*points)[i].x == (written.*points)[i].x);
      CHECK((read.*points)[i].y == (written.*points)[i].y);
    }
  }
}

TEST_CASE("measured points are read from lines, and a bad line is named", "[cache][format]") {
  const MeasuredPoints points =
      parse_measured_points("function,x,y\n# c, t, dq\nc , 1, 2.5\n\nt,1e6,0\r\ndq,0,7", "points");
  REQUIRE(points.query_us.size() == 1);
  CHECK(points.query_us[0].y == 2.5);
  CHECK(points.transfer_us_per_byte.at(0).x == 1e6);
  CHECK(points.transfer_bytes.at(0).y == 7);
  for (const char* bad : {"c,1", "c,1,2,3", "x,1,2", "c,one,2", "c,0,2", "t,0,1", "c,-1,2", "dq,1,nan", "c,inf,1", "c",
                          "c_host,0,1", "c_cpu,1,1"}) {
    INFO(bad);
    CHECK_THROWS_WITH(parse_measured_points("c,1,1\n" + std::string(bad), "points"),
                      Catch::Matchers::StartsWith("points, line 2: "));
  }
}

TEST_CASE("the example on the page of measured points can be read", "[cache][format]") {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/formats/tables/measured_points.md");
  std::string text, line;
  for (bool inside = false; std::getline(in, line);) {
    if (line == "```") {
      inside = !inside;
    } else if (inside) {
      text += line + "\n";
    }
  }
  const MeasuredPoints points = parse_measured_points(text, "page");
  CHECK(points.query_us.size() == 2);
  CHECK(points.transfer_us_per_byte.size() == 1);
  CHECK(points.transfer_bytes.at(1).y == 120000.5);
  CHECK(points.host_us.at(0).y == 2.5);
  CHECK(points.gpu_us.at(0).x == 1000);
}

}  // namespace quern
