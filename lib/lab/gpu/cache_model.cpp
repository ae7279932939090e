#include <bitset>
#include <cmath>
#include <iterator>
#include <map>

#include "quern/lab/gpu/cache_bench.hpp"

namespace quern {
namespace {

/// Linear in 1/x between points, which are sorted by x; constant beyond them.
double interpolated(const std::vector<MeasuredPoint>& points, double x) {
  const auto after = std::find_if(points.begin(), points.end(), [&](const MeasuredPoint& each) { return each.x >= x; });
  if (after == points.end()) return points.back().y;
  if (after == points.begin()) return after->y;
  const MeasuredPoint& before = *std::prev(after);
  const double share = (1 / x - 1 / after->x) / (1 / before.x - 1 / after->x);
  return after->y + share * (before.y - after->y);
}

std::vector<MeasuredPoint> per_byte(const std::vector<TransferTime>& copies, double TransferTime::*us) {
  std::vector<MeasuredPoint> points;
  for (const TransferTime& copy : copies) {
    const auto bytes = static_cast<double>(copy.bytes);
    if (copy.bytes > 0) points.push_back({bytes, copy.*us / bytes});
  }
  return points;
}

}  // namespace

const ResidentTimes& CacheModel::add(const CacheSetting& setting, const EngineRun& run) {
  ResidentTimes& resident = resident_.emplace_back();
  resident.setting = setting;
  resident.times = times_of(run);
  // QueryQueue makes batches of equal size; queries that run again add some more.
  const auto queries = static_cast<double>(run.queries);
  const double batches = std::max(1.0, std::ceil(queries / static_cast<double>(setting.batch)));
  resident.batch_queries = queries / batches;
  const double find_us = std::min(find_us_, resident.times.host);
  resident.host_us = resident.times.host - find_us;
  const double flights = setting.batch == 1 ? 1 : batches;
  // The GPU's clock includes a batch's copies waiting for the previous batch's kernels, so its time is limited to the
  // whole run's.
  resident.gpu_us = std::clamp(resident.times.total - find_us - resident.host_us / flights, 0.0, resident.times.gpu);
  resident.query_us = std::max(resident.times.host + resident.gpu_us, resident.times.total);
  StageTimes stages;
  stages.host = resident.host_us;
  stages.gpu = resident.gpu_us;
  resident.alone_us = std::max(find_us, resident.times.total - stages.overlapped_us(flights));
  return resident;
}

void CacheModel::add(const CalibratingRun& run) {
  runs_.push_back(run);
  const CopyDemand& demand = run.demand;
  if (demand.windowed == 0) return;
  const double resident_us =
      at_batch(run.setting, demand.batch_queries, [](const ResidentTimes& each) { return each.gpu_us; });
  window_copies_us_.push_back(
      {{demand.copied_bytes, demand.window_lists, demand.windows}, run.times.copying, run.times.copying});
  window_kernels_us_.push_back(
      {{demand.needed_bytes, demand.window_lists, demand.windows}, run.times.gpu - resident_us, run.times.gpu});
}

double CacheModel::at_batch(const CacheSetting& setting, double n, double (*figure)(const ResidentTimes&)) const {
  std::vector<MeasuredPoint> points;
  for (const ResidentTimes& resident : resident_)
    if (resident.setting.k == setting.k && (resident.setting.batch == 1) == (setting.batch == 1))
      points.push_back({resident.batch_queries, figure(resident)});
  if (points.empty()) throw InvalidArgument("the model has no run with all lists in memory for this k");
  std::sort(points.begin(), points.end(), [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.x < b.x; });
  return interpolated(points, n);
}

double CacheModel::unhidden_share(double windowed, double n) const {
  struct Sum {
    double us = 0, shorter_us = 0;
  };
  std::map<double, Sum> by_batch;
  for (const CalibratingRun& run : runs_) {
    if (run.demand.windowed != windowed) continue;
    const StageTimes stages = hidden_stages(run.setting, run.demand);
    Sum& sum = by_batch[run.demand.batch_queries];
    sum.us += std::max(0.0, run.times.total - stages.overlapped_us(run.batches, run.demand.windows_per_batch));
    sum.shorter_us += std::min(stages.gpu, stages.transfer);
  }
  std::vector<MeasuredPoint> shares;
  for (const auto& [batch, sum] : by_batch)
    if (sum.shorter_us > 0) shares.push_back({batch, sum.us / sum.shorter_us});
  return shares.empty() ? 0 : interpolated(shares, n);
}

StageTimes CacheModel::stages(const CacheSetting& setting, const CopyDemand& demand) const {
  StageTimes stages = hidden_stages(setting, demand);
  // If each query waits for the previous one, nothing overlaps anyway.
  if (setting.batch == 1 || stages.transfer <= 0) return stages;
  const double n = demand.batch_queries;
  stages.unhidden = demand.windowed * unhidden_share(1, n) + (1 - demand.windowed) * unhidden_share(0, n);
  return stages;
}

StageTimes CacheModel::hidden_stages(const CacheSetting& setting, const CopyDemand& demand) const {
  const double n = demand.batch_queries;
  StageTimes stages;
  stages.query = at_batch(setting, n, [](const ResidentTimes& resident) { return resident.query_us; });
  stages.host = at_batch(setting, n, [](const ResidentTimes& resident) { return resident.host_us; });
  stages.gpu = at_batch(setting, n, [](const ResidentTimes& resident) { return resident.gpu_us; });
  stages.alone = at_batch(setting, n, [](const ResidentTimes& resident) { return resident.alone_us; });
  const double by_windows =
      window_kernels().us({demand.windowed * demand.needed_bytes, demand.window_lists, demand.windows});
  stages.gpu += by_windows;
  stages.query += by_windows;
  const double bytes = demand.copied_bytes;
  if (bytes <= 0 || copies_.empty()) return stages;
  const auto fitted = [&](const std::vector<TransferTime>& copies, double TransferTime::*us) {
    return copies.empty() ? 0 : fit_inverse(per_byte(copies, us)).at(n * bytes) * bytes;
  };
  const double whole = 1 - demand.windowed;
  stages.transfer = whole * fitted(copies_, &TransferTime::us);
  if (window_copies_us_.empty())
    stages.transfer += demand.windowed * fitted(window_copies_, &TransferTime::us);
  else
    stages.transfer += window_copies().us({demand.windowed * bytes, demand.window_lists, demand.windows});
  // A separate thread gathers lists for windows.
  stages.gather = whole * fitted(copies_, &TransferTime::host_us);
  return stages;
}

double CacheModel::resident_us(const CacheSetting& setting) const {
  return at_batch(setting, static_cast<double>(setting.batch),
                  [](const ResidentTimes& resident) { return resident.times.total; });
}

MeasuredPoints CacheModel::points(std::size_t k, bool by_windows) const {
  MeasuredPoints points;
  for (const ResidentTimes& resident : resident_) {
    if (resident.setting.k != k) continue;
    const double n = resident.batch_queries;
    points.query_us.push_back({n, resident.query_us});
    points.host_us.push_back({n, resident.host_us});
    points.gpu_us.push_back({n, resident.gpu_us});
    points.alone_us.push_back({n, resident.alone_us});
  }
  const std::vector<TransferTime>& copies = by_windows && !window_copies_.empty() ? window_copies_ : copies_;
  points.transfer_us_per_byte = per_byte(copies, &TransferTime::us);
  points.gather_us_per_byte = per_byte(copies, &TransferTime::host_us);
  return points;
}

namespace {

constexpr std::size_t num_costs = 3;
using Costs = std::array<double, num_costs>;
using Chosen = std::bitset<num_costs>;

Costs terms_of(const WindowWork& work) { return {work.bytes, work.window_lists, work.windows}; }

/// A sample's terms and time, relative to its total time.
struct Row {
  Costs terms{};
  double us = 0;
};

double distance(const std::vector<Row>& rows, const Costs& costs) {
  double sum = 0;
  for (const Row& row : rows) {
    double off = row.us;
    for (std::size_t i = 0; i < num_costs; ++i) off -= costs[i] * row.terms[i];
    sum += off * off;
  }
  return sum;
}

/// Least squares with the chosen costs, the others 0, by Gaussian elimination of the normal equations. Empty if the
/// samples can't separate the costs.
std::optional<Costs> solve(const std::vector<Row>& rows, const Chosen& chosen) {
  std::array<std::array<double, num_costs + 1>, num_costs> matrix{};
  for (std::size_t i = 0; i < num_costs; ++i) {
    if (!chosen[i]) {
      matrix[i][i] = 1;
      continue;
    }
    for (const Row& row : rows) {
      for (std::size_t j = 0; j < num_costs; ++j)
        if (chosen[j]) matrix[i][j] += row.terms[i] * row.terms[j];
      matrix[i][num_costs] += row.terms[i] * row.us;
    }
  }
  constexpr double min_pivot = 1e-9;  // relative to the diagonal, so that scales cancel out
  for (std::size_t i = 0; i < num_costs; ++i) {
    const double before = matrix[i][i];
    for (std::size_t k = 0; k < i; ++k) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j <= num_costs; ++j) matrix[i][j] -= factor * matrix[k][j];
    }
    if (!(matrix[i][i] > min_pivot * before)) return std::nullopt;
  }
  Costs costs{};
  for (std::size_t i = num_costs; i-- > 0;) {
    double left = matrix[i][num_costs];
    for (std::size_t j = i + 1; j < num_costs; ++j) left -= matrix[i][j] * costs[j];
    costs[i] = left / matrix[i][i];
  }
  return costs;
}

}  // namespace

WindowCosts fit_window_costs(const std::vector<WindowSample>& samples) {
  std::vector<Row> rows;
  for (const WindowSample& sample : samples) {
    if (!(sample.all_us > 0)) continue;
    Row& row = rows.emplace_back();
    row.us = sample.us / sample.all_us;
    const Costs terms = terms_of(sample.work);
    for (std::size_t i = 0; i < num_costs; ++i) row.terms[i] = terms[i] / sample.all_us;
  }
  // The best non-negative costs are the unconstrained best of some subset, with the others 0.
  Costs best{};
  double min_distance = distance(rows, best);
  for (unsigned long subset = 1; subset < (1u << num_costs); ++subset) {
    const std::optional<Costs> costs = solve(rows, Chosen(subset));
    if (!costs || *std::min_element(costs->begin(), costs->end()) < 0) continue;
    if (const double off = distance(rows, *costs); off < min_distance) {
      min_distance = off;
      best = *costs;
    }
  }
  return {best[0], best[1], best[2]};
}

}  // namespace quern
