#include "quern/plan/throughput_model.hpp"

#include <cmath>

#include "quern/core/error.hpp"

namespace quern {
namespace {

void check_points(const std::string& name, const std::vector<MeasuredPoint>& points, const char* function,
                  const char* needed = "the model needs points of c, t and dq") {
  if (!points.empty()) return;
  throw InvalidArgument(name + (name.empty() ? "" : ": ") + "no points of " + function + "; " + needed);
}

/// All 0 without points.
InverseFit fit_if_any(const std::vector<MeasuredPoint>& points) {
  return points.empty() ? InverseFit{} : fit_inverse(points);
}

/// The least positive value; 1 if there is none.
double least_positive(const std::vector<MeasuredPoint>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (const MeasuredPoint& point : points)
    if (point.y > 0) least = std::min(least, point.y);
  return std::isfinite(least) ? least : 1;
}

/// Fits base and over_x by least squares of relative distances; if one would be negative, fits the other alone.
void solve(const std::vector<MeasuredPoint>& points, InverseFit& fit) {
  const double least = least_positive(points);
  double w = 0, z1 = 0, z2 = 0, y1 = 0, zy = 0;  // sums of weights, and of 1/x and y with these weights
  for (const MeasuredPoint& point : points) {
    const double z = 1 / point.x, weight = std::pow(least / std::max(point.y, least), 2);
    w += weight;
    z1 += weight * z;
    z2 += weight * z * z;
    y1 += weight * point.y;
    zy += weight * z * point.y;
  }
  const double determinant = w * z2 - z1 * z1;
  // Points with (nearly) the same x don't show how y changes.
  const bool one_x = determinant <= 1e-12 * w * z2;
  fit.over_x = one_x ? 0 : (w * zy - z1 * y1) / determinant;
  fit.base = one_x ? y1 / w : (y1 - fit.over_x * z1) / w;
  if (fit.over_x < 0) {
    fit.over_x = 0;
    fit.base = y1 / w;
  } else if (fit.base < 0) {
    fit.base = 0;
    fit.over_x = zy / z2;
  }
}

/// The prediction for batches that fill the buffer.
MemorySplit split_of(const ThroughputModel& model, double cache_bytes, double buffer_bytes) {
  MemorySplit split{cache_bytes, buffer_bytes, 0, 0, 0};
  const double bytes = model.transfer_bytes(cache_bytes);
  split.batch_queries = std::min(model.max_queries(), bytes > 0 ? buffer_bytes / bytes : model.max_queries());
  const StageTimes stages = model.stages(split.batch_queries, buffer_bytes, bytes);
  const bool overlaps = model.overlap() == StageOverlap::full;
  split.response_us = split.batch_queries * (overlaps ? stages.response_us() : stages.in_turn_us());
  split.queries_per_second = 1e6 / (overlaps ? stages.overlapped_us() : stages.in_turn_us());
  return split;
}

/// Response times grow with the buffer, so bisection finds the largest that meets the limit.
MemorySplit largest_buffer(const ThroughputModel& model, double cache_bytes, double max_bytes, double limit_us) {
  const double min_bytes = std::max(model.transfer_bytes(cache_bytes), 1.0);
  if (min_bytes > max_bytes) return {};
  MemorySplit best = split_of(model, cache_bytes, max_bytes);
  if (best.response_us <= limit_us) return best;
  double low = min_bytes, high = max_bytes;
  best = split_of(model, cache_bytes, low);
  if (best.response_us > limit_us) return {};
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const MemorySplit split = split_of(model, cache_bytes, middle);
    if (split.response_us <= limit_us) {
      best = split;
      low = middle;
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace

InverseFit fit_inverse(const std::vector<MeasuredPoint>& points) {
  if (points.empty()) throw InvalidArgument("a fit needs at least one point");
  InverseFit fit;
  fit.points = points.size();
  solve(points, fit);
  double mean = 0, residuals = 0, variance = 0;
  for (const MeasuredPoint& point : points) mean += point.y / static_cast<double>(points.size());
  for (const MeasuredPoint& point : points) {
    const double off = point.y - fit.at(point.x);
    residuals += off * off;
    variance += (point.y - mean) * (point.y - mean);
    fit.worst_residual = std::max(fit.worst_residual, point.y > 0 ? std::abs(off) / point.y : 0);
  }
  fit.r_squared = variance > 0 ? 1 - residuals / variance : 1;
  return fit;
}

double StageTimes::longest_us() const { return std::max({host + gather, transfer, gpu}); }

double StageTimes::overlapped_us(double batches, double windows_per_batch) const {
  const double longest = longest_us(), longer = std::max(transfer, gpu), shorter = std::min(transfer, gpu);
  return alone + longest + unhidden * shorter + (host + longer - longest + shorter / windows_per_batch) / batches;
}

double StageTimes::response_us() const { return alone + std::max(host + transfer + gpu, 2 * longest_us()); }

ThroughputModel::ThroughputModel(const MeasuredPoints& points, std::optional<TransferLink> link, StageOverlap overlap)
    : overlap_(overlap), transfer_bytes_(points.transfer_bytes) {
  check_points(points.name, points.query_us, "c");
  if (!link) check_points(points.name, points.transfer_us_per_byte, "t");
  check_points(points.name, points.transfer_bytes, "dq");
  query_us_ = fit_inverse(points.query_us);
  if (!points.transfer_us_per_byte.empty()) transfer_us_ = fit_inverse(points.transfer_us_per_byte);
  if (link) transfer_us_.base = link->us_per_byte();
  if (overlap == StageOverlap::full) {
    constexpr const char* needed = "the model with overlap needs points of c_host and c_gpu too";
    check_points(points.name, points.host_us, "c_host", needed);
    check_points(points.name, points.gpu_us, "c_gpu", needed);
  }
  host_us_ = fit_if_any(points.host_us);
  gpu_us_ = fit_if_any(points.gpu_us);
  alone_us_ = fit_if_any(points.alone_us);
  gather_us_ = fit_if_any(points.gather_us_per_byte);
  for (const MeasuredPoint& point : points.query_us) max_queries_ = std::max(max_queries_, point.x);
  std::stable_sort(transfer_bytes_.begin(), transfer_bytes_.end(),
                   [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.x < b.x; });
}

StageTimes ThroughputModel::stages(double queries, double buffer_bytes, double bytes) const {
  StageTimes stages;
  stages.query = query_us_.at(queries);
  stages.host = host_us_.at(queries);
  stages.gpu = gpu_us_.at(queries);
  stages.alone = alone_us_.at(queries);
  if (bytes <= 0) return stages;
  stages.gather = gather_us_.at(buffer_bytes) * bytes;
  stages.transfer = std::max(transfer_us_.at(buffer_bytes) * bytes, stages.gather);
  return stages;
}

double ThroughputModel::transfer_bytes(double cache_bytes) const {
  const auto after = std::find_if(transfer_bytes_.begin(), transfer_bytes_.end(),
                                  [&](const MeasuredPoint& point) { return point.x >= cache_bytes; });
  if (after == transfer_bytes_.end()) return transfer_bytes_.back().y;
  if (after == transfer_bytes_.begin() || after->x == cache_bytes) return after->y;
  const MeasuredPoint& before = *std::prev(after);
  return before.y + (after->y - before.y) * (cache_bytes - before.x) / (after->x - before.x);
}

std::vector<MemorySplit> throughput_curve(const ThroughputModel& model, double memory_bytes, double limit_us,
                                          unsigned steps) {
  check_range("memory", memory_bytes, 1, 0x1p63);
  check_range("steps", steps, 1, 1000000);
  if (!(limit_us >= 0)) throw InvalidArgument("the limit must be a time of at least 0");  // infinity is one
  std::vector<MemorySplit> curve;
  for (unsigned step = 0; step <= steps; ++step) {
    const double cache_bytes = memory_bytes * step / steps;
    const MemorySplit split = largest_buffer(model, cache_bytes, memory_bytes - cache_bytes, limit_us);
    if (split.batch_queries > 0) curve.push_back(split);
  }
  return curve;
}

}  // namespace quern
