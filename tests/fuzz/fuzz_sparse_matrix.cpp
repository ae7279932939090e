#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/tables/sparse_matrix.hpp"

#include "work_folder.hpp"

namespace {

/// What is left of a file. Unlike ByteSource::from_memory(), never decompresses: only the start of a file tells that.
class RestOfFile final : public quern::ByteSource {
 public:
  explicit RestOfFile(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t read(std::span<std::uint8_t> to) override {
    const std::size_t size = std::string_view(bytes_).substr(read_).copy(reinterpret_cast<char*>(to.data()), to.size());
    read_ += size;
    return size;
  }
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return read_; }

 private:
  std::string name_ = "fuzz", bytes_;
  std::size_t read_ = 0;
};

/// The lines of a file, or the message of the error that ends them.
std::string matrix_in_file(const std::string& bytes, std::size_t head) {
  std::string text;
  try {
    quern::MatrixLines lines(bytes.substr(0, head), std::make_shared<RestOfFile>(bytes.substr(head)),
                             quern::fuzz::fuzz_resources().tmp_folder);
    quern::Bytes piece(1000);
    for (std::size_t size = lines.read(piece); size > 0; size = lines.read(piece))
      text += quern::as_text(quern::ByteView(piece).first(size));
  } catch (const quern::Error& error) {
    return error.what();
  }
  return text;
}

std::string matrix_in_memory(const std::string& bytes) {
  std::string text;
  try {
    quern::for_each_matrix_line(bytes, "fuzz", ~std::uint64_t{0},
                                [&](std::string_view line, std::uint64_t) { (text += line) += '\n'; });
  } catch (const quern::Error& error) {
    return error.what();
  }
  return text;
}

}  // namespace

/// The first byte says how many bytes come first. Any bytes give the same lines, or the same library error, from a file
/// and from memory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!quern::read_matrix_header(bytes)) return 0;
  const std::size_t head = std::min<std::size_t>(bytes.size(), quern::MatrixHeader::bytes + data[0]);
  if (matrix_in_file(bytes, head) != matrix_in_memory(bytes)) std::abort();
  return 0;
}
