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
};

/// Reads lines `function,x,y`. `name` is what messages call the file. Throws CorruptFile, with the line, if one is
/// none.
MeasuredPoints parse_measured_points(std::string_view text, std::string_view name);

}  // namespace quern
