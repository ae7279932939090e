#pragma once
#include <cstdint>
#include <string>

#include "quern/core/types.hpp"

namespace quern {

/// An open file: its descriptor and the name that messages use. Reads and writes are positional, so that threads
/// can share one. All functions throw IoError with the name.
class File {
 public:
  static File open_for_reading(const std::string& path);
  /// Creates a file that must not exist yet.
  static File create(const std::string& path);
  /// A work file without a name in `folder`: gone when it is closed, even if the process is killed.
  static File anonymous(const std::string& folder);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }
  std::uint64_t size() const;

  /// Fills `to` from `offset`; fewer bytes there than asked for is CorruptFile ("ends too early").
  void read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;
  /// Reads up to to.size() bytes; 0 only at the end.
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> to) const;
  void write_at(std::uint64_t offset, ByteView from);
  void sync();
  /// Another owner of the same open file.
  File duplicate() const;
  /// Gives the file the name that messages use from now on (an anonymous file: what it holds).
  void rename_for_messages(std::string name) { name_ = std::move(name); }

 private:
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor_ = -1;
  std::string name_;
};

/// Appends to a file through a buffer. Call flush() before reading what was written.
class FileAppender {
 public:
  explicit FileAppender(File& file, std::uint64_t offset = 0, std::size_t buffer_bytes = 256 << 10);
  void write(ByteView bytes);
  void flush();
  /// Where the next byte goes.
  std::uint64_t position() const { return offset_ + buffer_.size(); }

 private:
  File& file_;
  std::uint64_t offset_;
  std::size_t buffer_bytes_;
  Bytes buffer_;
};

/// Bytes free for us on the file system of `folder`.
std::uint64_t free_space_bytes(const std::string& folder);

/// Throws IoError, with both sizes, where `folder` has less than `needed_bytes` free.
void check_free_space(const std::string& folder, std::uint64_t needed_bytes, const std::string& for_what);

}  // namespace quern
