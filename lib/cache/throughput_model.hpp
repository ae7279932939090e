#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "quern/cache/transfer_link.hpp"
#include "quern/formats/tables/measured_points.hpp"

/// How many queries per second a GPU answers if its memory is split between cached lists and the buffer of a batch
/// (Wang et al. 4.2.1): TP = 1 / (c(n) + t(S_b) · dq(S_c)), for batches of n queries, a buffer of S_b bytes and a cache
/// of S_c bytes. c: time a query takes on the GPU; t: time to transfer a byte; dq: bytes transferred for a query.
namespace quern {

/// y = base + over_x / x, both at least 0: a cost per query or byte, and a cost per batch or transfer. Fitted by least
/// squares of distances relative to the points, whose y ranges over orders of magnitude.
struct InverseFit {
  double base = 0, over_x = 0;
  double r_squared = 1;       ///< the share of the points' variance that the fit explains
  double worst_residual = 0;  ///< largest distance from a point, relative to the point
  std::size_t points = 0;

  double at(double x) const { return base + over_x / x; }
  bool is_poor() const { return points < 3 || worst_residual > 0.2; }
};

/// Throws InvalidArgument without points.
InverseFit fit_inverse(const std::vector<MeasuredPoint>& points);

class ThroughputModel {
 public:
  /// With a `link`, t is the link's time for a byte, and what the points, if there are any, say that each transfer
  /// takes besides. Throws InvalidArgument if a function has no points, except t with a link.
  explicit ThroughputModel(const MeasuredPoints& points, std::optional<TransferLink> link = {});

  const InverseFit& query_us() const { return query_us_; }
  const InverseFit& transfer_us_per_byte() const { return transfer_us_; }
  /// dq: linear between the measured points, constant beyond them.
  double transfer_bytes(double cache_bytes) const;
  /// The largest batch that was measured; larger ones are not predicted.
  double max_queries() const { return max_queries_; }

 private:
  InverseFit query_us_, transfer_us_;
  std::vector<MeasuredPoint> transfer_bytes_;
  double max_queries_ = 0;
};

/// A split of the memory, and the prediction for it.
struct MemorySplit {
  double cache_bytes = 0, buffer_bytes = 0;
  double batch_queries = 0;
  double response_us = 0;  ///< of a batch, including its transfer
  double queries_per_second = 0;
};

/// For each of `steps` + 1 cache sizes, from none to all of the memory: the largest buffer in the rest of
/// `memory_bytes` with which a batch takes at most `limit_us`, and the throughput with it. Sizes without such a buffer
/// are left out. Throws InvalidArgument for numbers out of range; no limit is an infinite one.
std::vector<MemorySplit> throughput_curve(const ThroughputModel& model, double memory_bytes, double limit_us,
                                          unsigned steps);

}  // namespace quern
