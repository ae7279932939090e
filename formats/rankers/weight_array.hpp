#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// An array of network weights, row by row.
struct WeightArray {
  std::vector<std::uint64_t> shape;  ///< sizes of its dimensions, at most two
  std::vector<float> values;
};

/// Number types in weight files.
enum class WeightType : std::uint8_t { float16, float32, float64 };

constexpr std::size_t bytes_of(WeightType type) {
  if (type == WeightType::float16) return 2;
  return type == WeightType::float32 ? 4 : 8;
}

/// Decodes little-endian numbers, rounded to float32, as an array of that shape; with `by_columns`, column by column.
/// Throws CorruptFile, with `what`, if the size doesn't fit the shape, there are more than two dimensions, or a number
/// isn't finite in float32.
WeightArray weights_of_bytes(std::string_view bytes, WeightType type, std::vector<std::uint64_t> shape, bool by_columns,
                             const std::string& what);

/// Reads a NumPy file (.npy, versions 1 to 3) of float16, float32 or float64. Throws CorruptFile if the file
/// contradicts itself, InvalidArgument for other number types. `name` is the file's name in messages.
WeightArray read_npy(std::string_view bytes, const std::string& name);

/// Reads the array `tensor` of a safetensors file of F16, F32 or F64. Throws like read_npy(), and InvalidArgument, with
/// the existing names, if the tensor is missing.
WeightArray read_safetensors(std::string_view bytes, const std::string& name, std::string_view tensor);

}  // namespace quern
