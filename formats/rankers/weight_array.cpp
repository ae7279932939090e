#include "quern/formats/rankers/weight_array.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "quern/formats/rankers/json_events.hpp"

namespace quern {
namespace {

/// Converts half precision exactly to float32.
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
  // The conversion is undefined outside of float32's range.
  return std::abs(value) > std::numeric_limits<float>::max() ? std::numeric_limits<float>::infinity()
                                                             : static_cast<float>(value);
}

/// The number of values in an array of that shape. Throws if `bytes` can't hold them.
std::uint64_t count_of(const std::vector<std::uint64_t>& shape, std::uint64_t bytes, const std::string& what) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) {
    if (size == 0 || size > bytes || count > bytes / size)
      throw CorruptFile(what + ": its size does not match its shape");
    count *= size;
  }
  return count;
}

constexpr std::string_view npy_magic = "\x93NUMPY";
/// The head of a NumPy file: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
struct NpyHead {
  std::string type;
  bool by_columns = false;
  std::vector<std::uint64_t> shape;
};

NpyHead read_npy_head(std::string_view dictionary, const std::string& name) {
  // As JSON, which has other quotes, brackets and constants, and no comma before a closing bracket.
  std::string text;
  for (const char c : dictionary) {
    const std::size_t last = c == ')' || c == '}' ? text.find_last_not_of(" \t\r\n") : text.npos;
    if (last != text.npos && text[last] == ',') text.resize(last);
    constexpr std::string_view python = "'()TF", json = "\"[]tf";
    const std::size_t found = python.find(c);
    text += found == python.npos ? c : json[found];
  }
  try {
    const nlohmann::json head = nlohmann::json::parse(text);
    const nlohmann::json& shape = head.at("shape");
    if (head.size() == 3 &&
        std::all_of(shape.begin(), shape.end(), [](auto& size) { return size.is_number_unsigned(); }))
      return {head.at("descr"), head.at("fortran_order"), shape};
  } catch (const nlohmann::json::exception&) {
    // Reported below.
  }
  throw CorruptFile(name + ": its header is not NumPy's dictionary of descr, fortran_order and shape");
}

WeightType npy_type(const std::string& type, const std::string& name) {
  if (type == "<f4") return WeightType::float32;
  if (type == "<f8") return WeightType::float64;
  if (type == "<f2") return WeightType::float16;
  throw InvalidArgument("{}: has numbers of the NumPy type '{:.20}'; save float32 instead: array.astype('<f4')", name,
                        type);
}

constexpr std::size_t max_tensor_dimensions = 32, max_names_in_message = 20;

/// The head's entry for the wanted tensor.
struct TensorEntry {
  std::string type;
  std::vector<std::uint64_t> shape, offsets;
};

/// The head of a safetensors file: an object with an object for each tensor.
class SafetensorsHead : public JsonEvents {
 public:
  SafetensorsHead(const std::string& name, std::string_view tensor) : name_(name), tensor_(tensor) {}

  void begin_object() override {
    if (++depth_ > 2 || in_list_) fail();
    if (depth_ == 2) {
      is_wanted_ = key_ == tensor_;
      if (is_wanted_ && std::exchange(is_found_, true)) fail();
      if (key_ != "__metadata__" && names_.size() < max_names_in_message) names_.push_back(key_);
    }
    key_.clear();
  }
  void end_object() override {
    --depth_;
    key_.clear();
  }
  void begin_array() override {
    if (depth_ != 2 || in_list_) fail();
    in_list_ = true;
  }
  void end_array() override { in_list_ = false; }
  void key(std::string_view name) override { key_ = name; }
  void text(std::string_view value) override {
    if (depth_ != 2) fail();
    if (is_wanted_ && key_ == "dtype") entry_.type = value;
  }
  void number(const JsonNumber& value) override {
    if (!in_list_) fail();
    if (!is_wanted_) return;
    std::int64_t number = 0;
    if (!value.get(number) || number < 0) fail();
    std::vector<std::uint64_t>* const to = key_ == "shape"          ? &entry_.shape
                                           : key_ == "data_offsets" ? &entry_.offsets
                                                                    : nullptr;
    if (to) to->push_back(static_cast<std::uint64_t>(number));
    if (to && to->size() > max_tensor_dimensions) fail();
  }
  void boolean(bool) override { fail(); }

  bool is_found() const { return is_found_; }
  const TensorEntry& entry() const { return entry_; }
  /// The first names in the file, for messages.
  std::string names() const {
    std::string text;
    for (const std::string& name : names_) text += fmt::format("{}{:.60}", text.empty() ? "" : ", ", name);
    return text;
  }

 private:
  [[noreturn]] void fail() const { throw CorruptFile(name_ + ": its header is not that of a safetensors file"); }

  const std::string& name_;
  std::string_view tensor_;
  int depth_ = 0;
  bool in_list_ = false, is_wanted_ = false, is_found_ = false;
  std::string key_;
  std::vector<std::string> names_;
  TensorEntry entry_;
};

WeightType tensor_type(const std::string& type, const std::string& what) {
  if (type == "F32") return WeightType::float32;
  if (type == "F64") return WeightType::float64;
  if (type == "F16") return WeightType::float16;
  throw InvalidArgument("{}: has numbers of the type '{:.20}'; save float32 instead", what, type);
}

}  // namespace

WeightArray weights_of_bytes(std::string_view bytes, WeightType type, std::vector<std::uint64_t> shape, bool by_columns,
                             const std::string& what) {
  if (shape.size() > 2) throw CorruptFile("{}: has {} dimensions; weights have one or two", what, shape.size());
  const std::uint64_t count = count_of(shape, bytes.size(), what);
  if (count != bytes.size() / bytes_of(type) || bytes.size() % bytes_of(type) != 0)
    throw CorruptFile("{}: has {} bytes for {} numbers of {} bytes", what, bytes.size(), count, bytes_of(type));
  WeightArray array;
  array.values.resize(count);
  const bool is_turned = by_columns && shape.size() == 2;
  const std::uint64_t rows = is_turned ? shape[0] : 1, columns = is_turned ? shape[1] : count;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const std::uint64_t from = is_turned ? column * rows + row : column;
      const float value = load_weight(bytes.data() + from * bytes_of(type), type);
      if (!std::isfinite(value)) throw CorruptFile("{}: number {} is not finite in float32", what, from);
      array.values[row * columns + column] = value;
    }
  }
  array.shape = std::move(shape);
  return array;
}

WeightArray read_npy(std::string_view bytes, const std::string& name) {
  if (bytes.substr(0, npy_magic.size()) != npy_magic || bytes.size() < 10)
    throw CorruptFile(name + ": is not a NumPy file, which begins with \\x93NUMPY");
  const auto version = static_cast<unsigned>(static_cast<unsigned char>(bytes[6]));
  if (version < 1 || version > 3)
    throw UnsupportedVersion("{}: is a NumPy file of version {}, but Quern reads versions 1 to 3", name, version);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) throw CorruptFile(name + ": ends within its header");
  const std::uint64_t length =
      version == 1 ? load_le<std::uint16_t>(bytes.data() + 8) : load_le<std::uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - begin) throw CorruptFile(name + ": ends within its header");
  NpyHead head = read_npy_head(bytes.substr(begin, length), name);
  const WeightType type = npy_type(head.type, name);
  return weights_of_bytes(bytes.substr(begin + length), type, std::move(head.shape), head.by_columns, name);
}

WeightArray read_safetensors(std::string_view bytes, const std::string& name, std::string_view tensor) {
  constexpr std::size_t begin = 8;
  if (bytes.size() < begin) throw CorruptFile(name + ": ends within its header");
  const auto length = load_le<std::uint64_t>(bytes.data());
  if (length > bytes.size() - begin) throw CorruptFile(name + ": ends within its header, or is not a safetensors file");
  SafetensorsHead head(name, tensor);
  read_json(bytes.substr(begin, length), name, head);
  if (!head.is_found()) throw InvalidArgument("{}: has no tensor '{:.60}'; it has {}", name, tensor, head.names());
  const std::string what = fmt::format("{}, tensor '{:.60}'", name, tensor);
  const std::vector<std::uint64_t>& offsets = head.entry().offsets;
  const std::string_view data = bytes.substr(begin + length);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
    throw CorruptFile(what + ": its data_offsets are outside of the file");
  return weights_of_bytes(data.substr(offsets[0], offsets[1] - offsets[0]), tensor_type(head.entry().type, what),
                          head.entry().shape, false, what);
}

}  // namespace quern
