#pragma once
#include "quern/core/types.hpp"

/// Measured points of the throughput model's functions; see measured_points.md.
namespace quern {

struct MeasuredPoint {
  double x = 0, y = 0;
};

struct MeasuredPoints {
  std::string name;                                 ///< the file's name, for messages
  std::vector<MeasuredPoint> query_us;              ///< c: microseconds per query, by batch size
  std::vector<MeasuredPoint> transfer_us_per_byte;  ///< t: microseconds per byte, by transfer size
  std::vector<MeasuredPoint> transfer_bytes;        ///< dq: bytes transferred per query, by cache size
  /// For a machine whose stages overlap; by batch size like c, or by transfer size like t.
  std::vector<MeasuredPoint> host_us;             ///< c_host: the host's share of c
  std::vector<MeasuredPoint> gpu_us;              ///< c_gpu: the GPU's share of c
  std::vector<MeasuredPoint> alone_us;            ///< c_alone: work that doesn't overlap with a batch
  std::vector<MeasuredPoint> gather_us_per_byte;  ///< t_host: the part of t that blocks the host
};

/// Reads lines `function,x,y`. `name` is the file's name in messages. Throws CorruptFile, with the line, for any other
/// line.
MeasuredPoints parse_measured_points(std::string_view text, std::string_view name);

/// The lines of all points, as parse_measured_points() reads them.
std::string measured_points_text(const MeasuredPoints& points);

}  // namespace quern
