#include <cstdlib>
#include <fstream>

#include "quern/core/error.hpp"
#include "quern/lab/gpu/cache_bench.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "lab/fake_cache_subject.hpp"

/// The grid of `bench gpu-cache`, its predictions and its JSON, with a machine of known costs instead of a GPU.
namespace quern {
namespace {

using testing::FakeCacheSubject;

CacheGrid some_grid() {
  CacheGrid grid;
  grid.policies = {"vfb", "qtf", std::string(no_policy)};
  return grid;
}

CacheBenchFigures measure(FakeCacheSubject& subject, const CacheGrid& grid = some_grid()) {
  NoProgress progress;
  return measure_cache(subject, grid, progress);
}

const CacheSplit& split_of(const CacheBenchFigures& figures, const std::string& memory, double limit_ms,
                           StageOverlap overlap) {
  for (const CacheSplit& entry : figures.splits)
    if (entry.memory == memory && entry.policy == "vfb" && entry.limit_ms == limit_ms && entry.overlap == overlap)
      return entry;
  FAIL("no such split");
  return figures.splits.front();
}

}  // namespace

TEST_CASE("the grid has each configuration once, grouped by plan", "[measure]") {
  CacheGrid grid = some_grid();
  const std::vector<CacheSetting> all = settings_of(grid);
  // 6 memories, 3 policies and 4 batches; 3 more lambdas for 6 memories and 2 policies; 3 more k; one at a time.
  CHECK(all.size() == 6 * 3 * 4 + 3 * 6 * 2 + 3 * 3 + 3);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(std::find(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), all[i]) == all.end());
  std::vector<std::string> plans;
  for (const CacheSetting& entry : all) {
    const std::string plan =
        entry.memory + entry.policy + std::to_string(entry.max_admission) + " " + std::to_string(entry.k);
    if (plans.empty() || plans.back() != plan) plans.push_back(plan);
  }
  std::sort(plans.begin(), plans.end());
  CHECK(std::adjacent_find(plans.begin(), plans.end()) == plans.end());
  // All batch sizes and 1 with the base's k, and three more k.
  CHECK(resident_settings(grid).size() == 4 + 1 + 3);
  CHECK(curve_settings(grid).size() == 6 * 3 * 5);
  CHECK(calibrating_settings(grid).size() == 2 * 4);
  grid.parts = {GridPart::lambdas};
  CHECK(settings_of(grid).size() == 6 * (4 * 2 + 1));
  for (const CacheSetting& entry : settings_of(grid)) CHECK(entry.batch == 256);
  grid.parts = {GridPart::buffers};
  CHECK(settings_of(grid).empty());
  grid.list_buffers = {1000, 2000};
  CHECK(settings_of(grid).size() == 6 * 3 * 2);
}

TEST_CASE("grids with wrong numbers are refused", "[measure][numbers]") {
  using Catch::Matchers::StartsWith;
  CacheGrid grid = some_grid();
  grid.batches.push_back(65536);
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("queries per batch must be from 1 to 65535"));
  grid = some_grid();
  grid.ks = {0};
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("k must be from 1 to"));
  grid = some_grid();
  grid.max_admissions = {1.5};
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("lambda must be"));
  grid = some_grid();
  grid.limits_ms = {std::nan("")};
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("a limit in ms must be"));
  grid = some_grid();
  grid.calibrating = {"40%"};
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("memory 40% is among those to be measured"));
  grid = some_grid();
  grid.policies = {"best"};
  CHECK_THROWS_AS(check_cache_grid(grid), InvalidArgument);
  grid.policies.clear();
  CHECK_THROWS_WITH(check_cache_grid(grid), StartsWith("a grid needs at least one"));
}

TEST_CASE("each model is exact for a machine that matches it", "[measure]") {
  for (const StageOverlap overlap : {StageOverlap::none, StageOverlap::full}) {
    FakeCacheSubject subject(overlap);
    const CacheBenchFigures figures = measure(subject);
    REQUIRE(figures.points.size() == settings_of(some_grid()).size());
    CHECK(subject.runs == figures.points.size() + figures.resident.size() + figures.calibrating_runs.size());
    bool differ = false;
    for (const CachePoint& point : figures.points) {
      INFO(point.setting.memory << " " << point.setting.policy << ", batch " << point.setting.batch);
      CHECK(point.measured() == Approx(overlap == StageOverlap::none ? point.in_turn : point.overlapped));
      const StageTimes exact = FakeCacheSubject::stages(point.demand.batch_queries, point.demand.copied_bytes);
      CHECK(point.in_turn == Approx(1e6 / exact.in_turn_us()));
      CHECK(point.stages.transfer == Approx(exact.transfer));
      differ |= point.overlapped > 1.2 * point.in_turn;
    }
    // Through calibration, even the model with overlap learns that nothing overlaps.
    CHECK(differ == (overlap == StageOverlap::full));
  }
}

TEST_CASE("settings with too little memory are left out, with the reason", "[measure]") {
  FakeCacheSubject subject(StageOverlap::none);
  CacheGrid grid = some_grid();
  grid.parts = {GridPart::memories, GridPart::buffers};
  grid.list_buffers = {1000, 2000};
  const CacheBenchFigures all = measure(subject, grid);
  CHECK(all.left_out.empty());
  REQUIRE(all.points.size() == settings_of(grid).size());
  subject.too_small = [](const CacheSetting& setting) {
    return setting.memory == "5%" || setting.memory == "7%" || setting.list_buffer == 2000;
  };
  const CacheBenchFigures figures = measure(subject, grid);
  std::size_t left_out = 0;
  for (const CacheSetting& setting : settings_of(grid)) left_out += subject.too_small(setting);
  CHECK(figures.points.size() == all.points.size() - left_out);
  CHECK(figures.calibrating_runs.size() == all.calibrating_runs.size() / 2);
  // Those of the grid, of the curve for single queries, and those for calibration; each once.
  CHECK(figures.left_out.size() == left_out + 3 + 4);
  const auto json = cache_bench_json(figures, grid);
  CHECK(json["left_out"][0]["why"] == "too small");
  CHECK(json["left_out"][0]["memory"] == "7%");
  for (const CacheSplit& split : figures.splits)
    if (split.limit_ms == 0) CHECK(split.split.has_value() == (split.memory != "5%"));
}

TEST_CASE("a batch's wait for another batch's kernels does not count as GPU work", "[measure]") {
  FakeCacheSubject subject(StageOverlap::full);
  subject.waiting = 1.6;
  const CacheBenchFigures figures = measure(subject);
  for (const ResidentTimes& entry : figures.resident) {
    if (entry.setting.batch == 1) continue;  // nothing overlaps with it
    CHECK(entry.times.gpu > 1.5 * entry.gpu_us);
    CHECK(entry.gpu_us == Approx(FakeCacheSubject::stages(entry.batch_queries, 0).gpu));
  }
  for (const CachePoint& point : figures.points)
    if (point.setting.batch > 1) CHECK(point.measured() == Approx(point.overlapped));
}

TEST_CASE("the costs of windows are derived from runs with other memories", "[measure]") {
  for (const StageOverlap overlap : {StageOverlap::none, StageOverlap::full}) {
    FakeCacheSubject subject(overlap);
    subject.by_windows = true;
    const CacheBenchFigures figures = measure(subject);
    CHECK(figures.calibrating_runs.size() == 2 * 4);
    for (const CalibratingRun& run : figures.calibrating_runs)
      CHECK((run.setting.memory == "7%" || run.setting.memory == "30%"));
    for (const auto& [found, expected] :
         {std::pair(figures.window_copies, subject.copying), std::pair(figures.window_kernels, subject.kernels)}) {
      CHECK(found.per_byte == Approx(expected.per_byte));
      CHECK(found.per_window_list == Approx(expected.per_window_list));
      CHECK(found.per_window == Approx(expected.per_window));
    }
    for (const CachePoint& point : figures.points) {
      INFO(point.setting.memory << " " << point.setting.policy << ", batch " << point.setting.batch);
      CHECK(point.measured() == Approx(overlap == StageOverlap::none ? point.in_turn : point.overlapped));
      if (point.demand.windowed == 1) CHECK(point.stages.gather == 0);
    }
  }
}

TEST_CASE("incomplete overlap of copies and work is derived from runs with other memories", "[measure]") {
  for (const bool by_windows : {false, true}) {
    FakeCacheSubject subject(StageOverlap::full);
    subject.by_windows = by_windows;
    subject.unhidden = 0.4;
    bool counts = false;
    for (const CachePoint& point : measure(subject).points) {
      INFO(point.setting.memory << " " << point.setting.policy << ", batch " << point.setting.batch);
      CHECK(point.measured() == Approx(point.overlapped));
      counts |= point.stages.unhidden > 0.39;
    }
    CHECK(counts);
  }
}

TEST_CASE("without runs by windows, copies determine the costs of windows", "[measure]") {
  FakeCacheSubject subject(StageOverlap::full);
  subject.by_windows = true;
  CacheGrid grid = some_grid();
  grid.calibrating.clear();
  const CacheBenchFigures figures = measure(subject, grid);
  CHECK(figures.calibrating_runs.empty());
  for (const CachePoint& point : figures.points) {
    const StageTimes copied = FakeCacheSubject::stages(point.demand.batch_queries, point.demand.copied_bytes);
    if (point.demand.windowed == 1) CHECK(point.stages.transfer == Approx(copied.transfer));
  }
}

TEST_CASE("fitted costs of windows are never negative", "[measure]") {
  CHECK(fit_window_costs({}).us({1, 1, 1}) == 0);
  // Only bytes cost, since the other costs would be negative.
  const WindowCosts costs = fit_window_costs({{{100, 1, 1}, 99, 99}, {{200, 4, 3}, 195, 195}, {{300, 9, 5}, 290, 290}});
  CHECK(costs.per_byte == Approx(0.97).epsilon(0.02));
  CHECK(costs.per_window_list == 0);
  CHECK(costs.per_window == 0);
  // Samples that can't separate the costs are still fitted.
  const WindowWork work{50, 20, 10};
  CHECK(fit_window_costs({{work, 70, 100}, {work, 70, 100}}).us(work) == Approx(70));
  CHECK(fit_window_costs({{work, 70, 0}}).us(work) == 0);
}

TEST_CASE("no prediction depends on the run that it predicts", "[measure]") {
  FakeCacheSubject as_predicted(StageOverlap::full), slow(StageOverlap::full);
  slow.slower = 2;
  const CacheBenchFigures expected = measure(as_predicted), found = measure(slow);
  for (std::size_t i = 0; i < expected.points.size(); ++i) {
    CHECK(found.points[i].overlapped == expected.points[i].overlapped);
    CHECK(found.points[i].in_turn == expected.points[i].in_turn);
    CHECK(found.points[i].measured() / found.points[i].overlapped == Approx(0.5));
  }
}

TEST_CASE("copying is hidden if it does not make queries slower", "[measure]") {
  FakeCacheSubject in_turn(StageOverlap::none), overlapped(StageOverlap::full);
  for (const CachePoint& point : measure(in_turn).points) {
    CHECK(point.hidden_share.has_value() == !point.demand.whole_index);
    if (point.hidden_share) CHECK(*point.hidden_share == Approx(0).margin(1e-9));
  }
  for (const CachePoint& point : measure(overlapped).points) {
    // The longest stage is the GPU's work: it hides all copies but the first batch's.
    const StageTimes& stages = point.stages;
    if (stages.longest_us() == stages.gpu && point.setting.batch == 16 && point.hidden_share)
      CHECK(*point.hidden_share > 0.99);
  }
}

TEST_CASE("results that differ from those with all lists resident are an error", "[measure]") {
  FakeCacheSubject wrong(StageOverlap::full);
  wrong.hash = 77;
  CHECK_THROWS_WITH(measure(wrong), Catch::Contains("memory 7%, policy none, lambda 1, k 10, batches of 16"));
  FakeCacheSubject small(StageOverlap::full);
  small.resident_copies = 1;
  CHECK_THROWS_AS(measure(small), InvalidArgument);
}

TEST_CASE("points have the form that simulate throughput reads", "[measure]") {
  FakeCacheSubject subject(StageOverlap::full);
  const CacheBenchFigures figures = measure(subject);
  CHECK(figures.curves.size() == 3 * 5);
  CHECK(figures.copied_lists.size() == 6);  // up to all lists
  CHECK(figures.copied_lists.back().bytes == 50000000);
  for (const PolicyPoints& curve : figures.curves) {
    const MeasuredPoints read = parse_measured_points(measured_points_text(curve.points), "points");
    const ThroughputModel model(read, {}, StageOverlap::full);
    const StageTimes exact = FakeCacheSubject::stages(100, 1000), found = model.stages(100, 1e5, 1000);
    CHECK(found.query == Approx(exact.query));
    CHECK(found.overlapped_us() == Approx(exact.overlapped_us()));
    CHECK(model.transfer_bytes(0) == Approx(8e6 / std::sqrt(curve.batch_queries)));
    CHECK(model.transfer_bytes(FakeCacheSubject::list_bytes) == 0);
  }
}

TEST_CASE("splits are the best within their response time", "[measure]") {
  FakeCacheSubject subject(StageOverlap::full);
  const CacheBenchFigures figures = measure(subject);
  CHECK(figures.splits.size() == 6 * 3 * 5 * 2);
  for (const StageOverlap overlap : {StageOverlap::none, StageOverlap::full}) {
    double last = 0;
    for (const double limit_ms : {5.0, 50.0, 100.0, 150.0, 0.0}) {
      const CacheSplit& entry = split_of(figures, "20%", limit_ms, overlap);
      REQUIRE(entry.split);
      if (limit_ms > 0) CHECK(entry.split->response_us <= 1000 * limit_ms);
      CHECK(entry.split->cache_bytes + entry.split->buffer_bytes <= 2e8 + 1);
      CHECK(entry.split->queries_per_second >= last);  // more time, more throughput
      last = entry.split->queries_per_second;
    }
  }
  CHECK(split_of(figures, "20%", 0, StageOverlap::full).split->queries_per_second >
        split_of(figures, "20%", 0, StageOverlap::none).split->queries_per_second);
}

TEST_CASE("the JSON of bench gpu-cache contains the data that scripts/plot draws", "[measure]") {
  FakeCacheSubject subject(StageOverlap::full);
  const CacheGrid grid = some_grid();
  auto json = cache_bench_json(measure(subject), grid);
  CHECK(json["points"].size() == settings_of(grid).size());
  for (const auto& point : json["points"]) {
    for (const char* key : {"hit_rate", "hit_rate_bytes", "copied_bytes_per_query", "total_us", "host_us", "gpu_us",
                            "copying_us", "cpu_us", "queries_per_second", "model_queries_per_second",
                            "overlap_queries_per_second", "measured_by_model"})
      CHECK(point[key].is_number());
    CHECK(point["measured_by_overlap"] == Approx(1));
    CHECK(point["continued_by_cpu"] == 0);
  }
  CHECK(json["resident"].size() == resident_settings(grid).size());
  CHECK(json["curves"][0]["dq"].size() == 7);
  CHECK(json["splits"][0]["limit_ms"] == 5);

  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) return;
  json["bench"] = "gpu-cache";
  json["gpu"] = "a fake";
  json["algorithm"] = "and";
  json["queries"] = 40000;
  json["environment"] = {{"processor", "none"}, {"cores", 1}, {"version", "0"}, {"date", "today"}};
  json["index"] = {{"documents", 1000}, {"order", "url"}, {"codec", "newpfd"}, {"block_size", 64}};
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("cache.json", json.dump());
  REQUIRE(std::system(("/usr/bin/python3 " + std::string(QUERN_SOURCE_DIR) + "/scripts/plot " + file + " -o " +
                       folder.path("plots") + " > " + folder.path("drawn"))
                          .c_str()) == 0);
  std::ifstream drawn(folder.path("drawn"));
  std::size_t lines = 0;
  for (std::string line; std::getline(drawn, line);) ++lines;
  CHECK(lines == 2 * 9);  // svg and png
}

}  // namespace quern
