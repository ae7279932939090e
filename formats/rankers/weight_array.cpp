#include "quern/formats/rankers/weight_array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Half precision: exact in float32.
float float_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 0x3ff);
  float value = 0;
  if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else if (exponent < 31)
    value = std::ldexp(fraction + 1024, exponent - 25);
  else
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return (half & 0x8000) != 0 ? -value : value;
}

float load_weight(const char* from, WeightType type) {
  if (type == WeightType::float16) return float_of_half(load_le<std::uint16_t>(from));
  if (type == WeightType::float32) return load_le<float>(from);
  const double value = load_le<double>(from);
  // Out of the range of float32, the conversion is not defined.
  return std::abs(value) > std::numeric_limits<float>::max() ? std::numeric_limits<float>::infinity()
                                                             : static_cast<float>(value);
}

/// How many numbers an array of that shape has, if they are in `bytes`.
std::uint64_t count_of(const std::vector<std::uint64_t>& shape, std::uint64_t bytes, const std::string& what) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) {
    if (size == 0 || size > bytes || count > bytes / size)
      throw CorruptFile(what + ": has other bytes than its shape needs");
    count *= size;
  }
  return count;
}

}  // namespace

WeightArray weights_of_bytes(std::string_view bytes, WeightType type, std::vector<std::uint64_t> shape, bool by_columns,
                             const std::string& what) {
  if (shape.size() > 2)
    throw CorruptFile(fmt::format("{}: has {} dimensions; weights have one or two", what, shape.size()));
  const std::uint64_t count = count_of(shape, bytes.size(), what);
  if (count != bytes.size() / bytes_of(type) || bytes.size() % bytes_of(type) != 0)
    throw CorruptFile(
        fmt::format("{}: has {} bytes of {} numbers of {} bytes", what, bytes.size(), count, bytes_of(type)));
  WeightArray array;
  array.values.resize(count);
  const bool is_turned = by_columns && shape.size() == 2;
  const std::uint64_t rows = is_turned ? shape[0] : 1, columns = is_turned ? shape[1] : count;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const std::uint64_t from = is_turned ? column * rows + row : column;
      const float value = load_weight(bytes.data() + from * bytes_of(type), type);
      if (!std::isfinite(value)) throw CorruptFile(fmt::format("{}: number {} is not finite in float32", what, from));
      array.values[row * columns + column] = value;
    }
  }
  array.shape = std::move(shape);
  return array;
}

}  // namespace quern
