#pragma once
#include <limits>

#include "quern/formats/tables/measured_points.hpp"

namespace quern {

/// The link that copies lists from the host's memory to the GPU's.
struct TransferLink {
  double gigabytes_per_second = 0;  ///< 10^9 bytes per second, above 0

  double us_per_byte() const { return 1e-3 / gigabytes_per_second; }
};

// Predicts a GPU's queries per second if its memory is split between cached lists and the buffer of a batch (Wang et
// al. 4.2.1): TP = 1 / (c(n) + t(S_b) · dq(S_c)), for batches of n queries, a buffer of S_b bytes and a cache of S_c
// bytes. c: time a query takes on the GPU; t: time to transfer a byte; dq: bytes transferred for a query. For a machine
// that works on several batches at a time, the slowest stage decides; see README.md.

/// y = base + over_x / x, both at least 0: a cost per query or byte, and a cost per batch or transfer. Fitted by least
/// squares of relative distances, since y ranges over orders of magnitude.
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
  none,  ///< the model of Wang et al.
  full   ///< the host prepares one batch while the link copies another's lists and the GPU works on a third
};

/// A query's time in the stages of its batch, in microseconds.
struct StageTimes {
  double query = 0;     ///< c(n): all stages but transfers, in sequence
  double transfer = 0;  ///< t(S_b) · dq(S_c)
  double host = 0;      ///< c_host(n): the part of `query` for the host's work on the batch
  double gather = 0;    ///< the part of `transfer` that keeps the host from such work
  double gpu = 0;       ///< c_gpu(n): the part of `query` for the GPU's work
  double alone = 0;     ///< c_alone(n): work that overlaps with no batch
  double unhidden = 0;  ///< share of the shorter of transfer and GPU work that the longer does not hide

  double in_turn_us() const { return query + transfer; }
  /// The longest of the stages that overlap.
  double longest_us() const;
  /// Per query of `batches` batches: the longest stage of each, and once the other stages, since the first and last
  /// batch have no neighbour to overlap with. Within a batch that is processed by windows of documents, transfers and
  /// GPU work overlap window by window, though each sometimes waits for the other.
  double overlapped_us(double batches = std::numeric_limits<double>::infinity(), double windows_per_batch = 1) const;
  /// From the start of a batch to its end, per query, for back-to-back batches: the sum of its stages, or twice the
  /// longest if that is more, since a batch waits for the previous one.
  double response_us() const;
};

class ThroughputModel {
 public:
  /// With a `link`, t is the link's time per byte, plus the fixed time per transfer that the points of t imply, if any.
  /// Throws InvalidArgument if c, t or dq has no points (t needs none with a link), and with overlap if c_host or c_gpu
  /// has none.
  explicit ThroughputModel(const MeasuredPoints& points, std::optional<TransferLink> link = {},
                           StageOverlap overlap = StageOverlap::none);

  StageOverlap overlap() const { return overlap_; }
  /// The stages of batches of `queries` queries that each need `bytes` bytes, in a buffer of `buffer_bytes`.
  StageTimes stages(double queries, double buffer_bytes, double bytes) const;
  const InverseFit& query_us() const { return query_us_; }
  const InverseFit& transfer_us_per_byte() const { return transfer_us_; }
  /// dq: linear between the measured points, constant beyond them.
  double transfer_bytes(double cache_bytes) const;
  /// The largest batch measured; larger ones are not predicted.
  double max_queries() const { return max_queries_; }

 private:
  StageOverlap overlap_;
  InverseFit query_us_, transfer_us_, host_us_, gpu_us_, alone_us_, gather_us_;
  std::vector<MeasuredPoint> transfer_bytes_;
  double max_queries_ = 0;
};

/// A split of the memory and its predicted performance.
struct MemorySplit {
  double cache_bytes = 0, buffer_bytes = 0;
  double batch_queries = 0;
  double response_us = 0;  ///< of a batch, including its transfer and, with overlap, its wait for others
  double queries_per_second = 0;
};

/// For each of `steps` + 1 cache sizes, from none to all of the memory: the largest buffer in the rest of
/// `memory_bytes` with which a batch takes at most `limit_us`, and the throughput with it. Omits sizes without such a
/// buffer. `limit_us` may be infinite. Throws InvalidArgument for numbers out of range.
std::vector<MemorySplit> throughput_curve(const ThroughputModel& model, double memory_bytes, double limit_us,
                                          unsigned steps);

}  // namespace quern
