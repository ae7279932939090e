#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// An array of weights of a network, row by row.
struct WeightArray {
  std::vector<std::uint64_t> shape;  ///< sizes of its dimensions, of which there are at most two
  std::vector<float> values;
};

/// Types of numbers in files of weights.
enum class WeightType : std::uint8_t { float16, float32, float64 };

constexpr std::size_t bytes_of(WeightType type) {
  if (type == WeightType::float16) return 2;
  return type == WeightType::float32 ? 4 : 8;
}

/// The array of that shape whose little-endian numbers are `bytes`, rounded to float32; with `by_columns`, column by
/// column. Throws CorruptFile, with `what`, if there are more or fewer bytes, more than two dimensions, or a number is
/// not finite in float32.
WeightArray weights_of_bytes(std::string_view bytes, WeightType type, std::vector<std::uint64_t> shape, bool by_columns,
                             const std::string& what);

/// The array in a NumPy file (.npy, versions 1 to 3) of float16, float32 or float64. Throws CorruptFile if it
/// contradicts itself, InvalidArgument if it has other numbers. `name` is what messages call the file.
WeightArray read_npy(std::string_view bytes, const std::string& name);

/// The array called `tensor` in a safetensors file of F16, F32 or F64. Throws the same, and InvalidArgument, with the
/// names that there are, if it is not there.
WeightArray read_safetensors(std::string_view bytes, const std::string& name, std::string_view tensor);

}  // namespace quern
