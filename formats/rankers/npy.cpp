#include <fmt/format.h>

#include <optional>
#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/number_text.hpp"
#include "quern/formats/rankers/weight_array.hpp"

namespace quern {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t most_npy_dimensions = 32;

/// The head of a NumPy file: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class NpyHead {
 public:
  NpyHead(std::string_view text, const std::string& name) : text_(text), name_(name) {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!trim(text_).empty() || type_.empty() || !by_columns_ || !shape_) fail();
  }

  const std::string& type() const { return type_; }
  bool by_columns() const { return *by_columns_; }
  std::vector<std::uint64_t> shape() const { return *shape_; }

 private:
  [[noreturn]] void fail() const {
    throw CorruptFile(name_ + ": its head is no dictionary with descr, fortran_order and shape, as NumPy writes it");
  }
  bool take(char c) {
    text_ = trim(text_);
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string_view take_string() {
    text_ = trim(text_);
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : text_.npos;
    if (end == text_.npos) fail();
    const std::string_view string = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return string;
  }
  std::string_view take_word() {
    text_ = trim(text_);
    std::size_t size = 0;
    while (size < text_.size() && (is_ascii_letter(text_[size]) || is_ascii_digit(text_[size]))) ++size;
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    return word;
  }

  void read_entry() {
    const std::string_view key = take_string();
    expect(':');
    if (key == "descr") {
      type_ = take_string();
    } else if (key == "fortran_order") {
      const std::string_view word = take_word();
      if (word != "True" && word != "False") fail();
      by_columns_ = word == "True";
    } else if (key == "shape") {
      read_shape();
    } else {
      fail();
    }
  }

  void read_shape() {
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!take(')')) {
      std::uint64_t size = 0;
      if (shape.size() == most_npy_dimensions || !read_number(take_word(), size)) fail();
      shape.push_back(size);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    shape_ = std::move(shape);
  }

  std::string_view text_;
  const std::string& name_;
  std::string type_;
  std::optional<bool> by_columns_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

WeightType npy_type(const std::string& type, const std::string& name) {
  if (type == "<f4") return WeightType::float32;
  if (type == "<f8") return WeightType::float64;
  if (type == "<f2") return WeightType::float16;
  throw InvalidArgument(
      fmt::format("{}: has numbers of NumPy's type '{:.20}'; save float32 instead: array.astype('<f4')", name, type));
}

}  // namespace

WeightArray read_npy(std::string_view bytes, const std::string& name) {
  if (bytes.substr(0, npy_magic.size()) != npy_magic || bytes.size() < 10)
    throw CorruptFile(name + ": is no NumPy file, which begin with \\x93NUMPY");
  const auto version = static_cast<unsigned>(static_cast<unsigned char>(bytes[6]));
  if (version < 1 || version > 3)
    throw UnsupportedVersion(
        fmt::format("{}: is a NumPy file of version {}, of which Quern reads 1 to 3", name, version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) throw CorruptFile(name + ": ends within its head");
  const std::uint64_t length =
      version == 1 ? load_le<std::uint16_t>(bytes.data() + 8) : load_le<std::uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - begin) throw CorruptFile(name + ": ends within its head");
  const NpyHead head(bytes.substr(begin, length), name);
  const WeightType type = npy_type(head.type(), name);
  return weights_of_bytes(bytes.substr(begin + length), type, head.shape(), head.by_columns(), name);
}

}  // namespace quern
