#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Measured points of the throughput model's functions; see measured_points.md.
namespace quern {

struct MeasuredPoint {
  double x = 0, y = 0;
};

struct MeasuredPoints {
  std::string name;                                 ///< of their file, for messages
  std::vector<MeasuredPoint> query_us;              ///< c: microseconds per query, by queries per batch
  std::vector<MeasuredPoint> transfer_us_per_byte;  ///< t: microseconds a byte, by bytes of a transfer
  std::vector<MeasuredPoint> transfer_bytes;        ///< dq: bytes transferred for a query, by bytes of the cache
  /// For a machine whose stages overlap; by queries per batch as c, and by bytes of a transfer as t.
  std::vector<MeasuredPoint> host_us;             ///< c_host: of c, the host's work on a batch
  std::vector<MeasuredPoint> gpu_us;              ///< c_gpu: of c, the GPU's work on it
  std::vector<MeasuredPoint> alone_us;            ///< c_alone: what runs beside no batch
  std::vector<MeasuredPoint> gather_us_per_byte;  ///< t_host: of t, what keeps the host from its other work
};

/// Reads lines `function,x,y`. `name` is what messages call the file. Throws CorruptFile, with the line, if one is
/// none.
MeasuredPoints parse_measured_points(std::string_view text, std::string_view name);

/// The lines of all points, which parse_measured_points() reads again.
std::string measured_points_text(const MeasuredPoints& points);

}  // namespace quern
