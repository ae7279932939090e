#pragma once
#include <cstdint>
#include <string>

#include "quern/core/types.hpp"

namespace quern {

/// An open file: its descriptor and the name that messages use. Reads and writes are positional, so that threads
/// can share a file. All functions throw IoError with the name.
class File {
 public:
  /// A file, or a pipe or device, for which it may wait. Throws InvalidArgument if `path` is a folder.
  static File open_for_reading(const std::string& path);
  /// The same, but doesn't wait for a pipe's writer: who reads must, as with ReadInterrupt::wait(). Before there is
  /// one, the pipe seems to be at its end.
  static File open_without_waiting(const std::string& path);
  /// A file that can be read at any place; never waits. Throws InvalidArgument if `path` is anything else.
  static File open_regular(const std::string& path);
  /// Creates a file that must not exist yet.
  static File create(const std::string& path);
  /// An anonymous work file in `folder`: it disappears when it is closed, even if the process is killed.
  static File anonymous(const std::string& folder);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }
  std::uint64_t size() const;

  /// Fills `to` from `offset` on. Throws CorruptFile ("ends too early") if the file has fewer bytes.
  void read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;
  /// Reads at most to.size() bytes and returns their number; 0 only at the end.
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> to) const;
  void write_at(std::uint64_t offset, ByteView from);
  void sync();
  /// Another owner of the same open file.
  File duplicate() const;
  /// Sets the name that messages use from now on (for an anonymous file: what it contains).
  void rename_for_messages(std::string name) { name_ = std::move(name); }

 private:
  static File open(const std::string& path, int flags);
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  unsigned mode() const;

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

/// Writes the bytes of a file to another, which is empty.
void copy_file(const File& from, File& to);

/// Bytes that this user may still write to the file system of `folder`.
std::uint64_t free_space_bytes(const std::string& folder);

/// Throws IoError, with both sizes, if `folder` has less than `needed_bytes` free.
void check_free_space(const std::string& folder, std::uint64_t needed_bytes, const std::string& for_what);

}  // namespace quern
