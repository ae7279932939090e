#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "quern/formats/tables/measured_points.hpp"

namespace quern {

/// What lists travel over from the host's memory to a GPU's.
struct TransferLink {
  double gigabytes_per_second = 0;  ///< of 10^9 bytes, above 0

  double us_per_byte() const { return 1e-3 / gigabytes_per_second; }
};

// How many queries per second a GPU answers if its memory is split between cached lists and the buffer of a batch
// (Wang et al. 4.2.1): TP = 1 / (c(n) + t(S_b) · dq(S_c)), for batches of n queries, a buffer of S_b bytes and a cache
// of S_c bytes. c: time a query takes on the GPU; t: time to transfer a byte; dq: bytes transferred for a query. Or,
// of a machine that works on several batches at a time, by the stage that takes longest; see README.md.

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

/// Whether the stages of different batches run at the same time.
enum class StageOverlap {
  none,  ///< never: the model of Wang et al.
  full   ///< the host makes a batch and gathers its lists, the link copies another's, and the GPU works on a third
};

/// What a query takes in the stages of its batch, in microseconds.
struct StageTimes {
  double query = 0;     ///< c(n): all of it but transfers, one thing after the other
  double transfer = 0;  ///< t(S_b) · dq(S_c)
  double host = 0;      ///< c_host(n): of `query`, the host's work on the batch
  double gather = 0;    ///< of `transfer`, what keeps the host from such work
  double gpu = 0;       ///< c_gpu(n): of `query`, the GPU's work
  double alone = 0;     ///< c_alone(n): what runs beside no batch
  double unhidden = 0;  ///< share of the shorter of the transfer and the GPU's work which the longer does not hide

  double in_turn_us() const { return query + transfer; }
  /// Of the stages that overlap, the one that takes longest.
  double longest_us() const;
  /// Per query of `batches` batches: the longest stage of each, and once all stages, for the first batch has none
  /// before it that its stages could overlap, and the last none behind it. Transfers and the GPU's work of a batch that
  /// goes through windows of documents overlap window by window, and at times each waits for the other.
  double overlapped_us(double batches = std::numeric_limits<double>::infinity(), double windows_per_batch = 1) const;
  /// From the beginning of a batch to its end, per query, if batches follow each other closely: all its stages, or two
  /// times the longest if those are less, since a batch waits for the one before.
  double response_us() const;
};

class ThroughputModel {
 public:
  /// With a `link`, t is the link's time for a byte, and what the points, if there are any, say that each transfer
  /// takes besides. Throws InvalidArgument if c, t or dq has no points, except t with a link; with overlap, if c_host
  /// or c_gpu has none.
  explicit ThroughputModel(const MeasuredPoints& points, std::optional<TransferLink> link = {},
                           StageOverlap overlap = StageOverlap::none);

  StageOverlap overlap() const { return overlap_; }
  /// For batches of `queries` queries that each need `bytes` bytes, in a buffer of `buffer_bytes`.
  StageTimes stages(double queries, double buffer_bytes, double bytes) const;
  const InverseFit& query_us() const { return query_us_; }
  const InverseFit& transfer_us_per_byte() const { return transfer_us_; }
  /// dq: linear between the measured points, constant beyond them.
  double transfer_bytes(double cache_bytes) const;
  /// The largest batch that was measured; larger ones are not predicted.
  double max_queries() const { return max_queries_; }

 private:
  StageOverlap overlap_;
  InverseFit query_us_, transfer_us_, host_us_, gpu_us_, alone_us_, gather_us_;
  std::vector<MeasuredPoint> transfer_bytes_;
  double max_queries_ = 0;
};

/// A split of the memory, and the prediction for it.
struct MemorySplit {
  double cache_bytes = 0, buffer_bytes = 0;
  double batch_queries = 0;
  double response_us = 0;  ///< of a batch, including its transfer and, with overlap, its waiting for others
  double queries_per_second = 0;
};

/// For each of `steps` + 1 cache sizes, from none to all of the memory: the largest buffer in the rest of
/// `memory_bytes` with which a batch takes at most `limit_us`, and the throughput with it. Sizes without such a buffer
/// are left out. Throws InvalidArgument for numbers out of range; no limit is an infinite one.
std::vector<MemorySplit> throughput_curve(const ThroughputModel& model, double memory_bytes, double limit_us,
                                          unsigned steps);

}  // namespace quern
