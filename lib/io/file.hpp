#pragma once
#include <cstdint>
#include <string>

#include "quern/core/resources.hpp"
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

/// A file's bytes in memory, read-only, loaded by the system when they are touched.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const File& file);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  ByteView bytes() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Releases the memory of the whole pages within `mapped`, a part of a file that is mapped for reading; the system
/// reads them from the file again when they are touched. So one pass over a large file takes little memory.
void release_pages(ByteView mapped);

/// What this process holds in memory of mapped files, its own code included; 0 if the system does not say.
std::uint64_t resident_file_bytes();

/// The whole content of a (perhaps compressed) file of any size, for readers that need all of it at once. A small one
/// is in memory; a larger one is in a work file, mapped, whose pages release_pages() gives back.
class WholeFile {
 public:
  /// Reads `path`, "-" for standard input. The work file is in resources.tmp_folder; files of less than 4 MiB, or less
  /// than a sixteenth of the memory, need none. Throws what ByteSource throws, and IoError if the folder has no space.
  WholeFile(const std::string& path, const Resources& resources);

  ByteView bytes() const { return is_mapped_ ? mapped_.bytes() : ByteView(memory_); }
  /// Gives back the memory of a part of bytes() that is not needed now.
  void release(ByteView part) const {
    if (is_mapped_) release_pages(part);
  }

 private:
  Bytes memory_;
  bool is_mapped_ = false;
  MappedFile mapped_;
};

}  // namespace quern
