#pragma once
#include <memory>
#include <optional>
#include <string>

#include "quern/core/types.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"
#include "quern/io/read_interrupt.hpp"

namespace quern {

/// The stored bytes of a file, a pipe, standard input or a text in memory, not decompressed. Bytes that were
/// read ahead can be inspected before they are taken.
class RawSource : public ByteSource {
 public:
  static std::unique_ptr<RawSource> open(const std::string& path, const ReadInterrupt* interrupt);
  /// As ByteSource::open_range(), compressed or not.
  static std::unique_ptr<RawSource> open_range(const std::string& path, const FileRange& range,
                                               const ReadInterrupt* interrupt);
  static std::unique_ptr<RawSource> of_memory(std::string name, std::string bytes);

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

  /// The bytes that were read ahead and not taken yet: at least 4, fewer only at the end.
  ByteView peek();
  /// Takes the first bytes of what peek() returned.
  void skip(std::size_t size);
  /// Keeps so many bytes behind those that are taken, for go_back().
  void keep_behind(std::size_t size) { keep_behind_ = size; }
  /// Gives back the last bytes that were taken, so many as are kept at most.
  void go_back(std::size_t size) { taken_ -= size; }
  /// The next byte's offset in the file.
  std::uint64_t offset() const { return bytes_read_ - (filled_ - taken_); }

 private:
  explicit RawSource(std::string name) : name_(std::move(name)) {}
  /// Like ::read: 0 at the end.
  std::size_t read_stored(std::span<std::uint8_t> to);

  static constexpr std::size_t buffer_bytes = 256 << 10;

  std::string name_;
  std::optional<File> file_;
  int descriptor_ = -1;
  const ReadInterrupt* interrupt_ = nullptr;
  Bytes buffer_;
  std::size_t taken_ = 0;   ///< of the buffer
  std::size_t filled_ = 0;  ///< of the buffer
  std::size_t keep_behind_ = 0;
  bool at_end_ = false;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  ///< bytes that may still be read
};

/// The content of the file, decompressed if it is compressed.
std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes);

/// The content of a gzip file (RFC 1952): all its members, one after another.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<RawSource> stored);

/// The content of a zstd file (RFC 8878): all its frames, one after another. Throws InvalidArgument at a frame that
/// needs a window of more than `max_window_bytes`.
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes);

}  // namespace quern
