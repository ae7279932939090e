#pragma once
#include "quern/core/resources.hpp"

namespace quern {

/// An open file: its descriptor and the name for messages. Reads and writes take an offset, so threads can share a
/// file. All functions throw IoError with the name.
class File {
 public:
  /// Opens a file, or a pipe or device, which may block. Throws InvalidArgument if `path` is a folder.
  static File open_for_reading(const std::string& path);
  /// As above, but does not wait for a pipe's writer; the reader must, as with ReadInterrupt::wait(). Until a writer
  /// opens it, the pipe seems to be at its end.
  static File open_without_waiting(const std::string& path);
  /// Opens a file for random access; never blocks. Throws InvalidArgument if `path` is not a regular file.
  static File open_regular(const std::string& path);
  /// Creates a file, which must not exist yet.
  static File create(const std::string& path);
  /// Has `check` called with every file that is opened by name from now on; it throws to refuse one. To be called
  /// before other threads open files.
  static void check_opened(void (*check)(const File& file));
  /// An unnamed work file in `folder`, which disappears when it is closed, even if the process is killed.
  static File anonymous(const std::string& folder);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }
  std::uint64_t size() const;

  /// Fills `to` from `offset` on. Throws CorruptFile ("ends too early") if the file is shorter.
  void read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;
  /// Reads at most to.size() bytes and returns their number; 0 only at the end.
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> to) const;
  void write_at(std::uint64_t offset, ByteView from);
  void sync();
  /// Another descriptor of the same open file.
  File duplicate() const;
  /// Sets the name for messages (for an unnamed file, its content).
  void rename_for_messages(std::string name) { name_ = std::move(name); }

 private:
  static File open(const std::string& path, int flags);
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  unsigned mode() const;

  int descriptor_ = -1;
  std::string name_;
};

/// Appends to a file through a buffer. Call flush() before reading the file.
class FileAppender {
 public:
  explicit FileAppender(File& file, std::uint64_t offset = 0, std::size_t buffer_bytes = 256 << 10);
  void write(ByteView bytes);
  void flush();
  /// The offset of the next byte.
  std::uint64_t position() const { return offset_ + buffer_.size(); }

 private:
  File& file_;
  std::uint64_t offset_;
  std::size_t buffer_bytes_;
  Bytes buffer_;
};

/// Copies the bytes of `from` to `to`, which must be empty.
void copy_file(const File& from, File& to);

/// Bytes that the current user may still write to the file system of `folder`.
std::uint64_t free_space_bytes(const std::string& folder);

/// Throws IoError, with both sizes, if `folder` has less than `needed_bytes` free.
void check_free_space(const std::string& folder, std::uint64_t needed_bytes, const std::string& for_what);

/// A file mapped into memory, read-only.
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

/// Releases the memory of whole pages within `mapped`, a range of a file mapped for reading; the system reads them
/// again on the next access. This bounds the memory of one pass over a large file.
void release_pages(ByteView mapped);

/// The resident memory of this process's mapped files, including its own code; 0 if unknown.
std::uint64_t resident_file_bytes();

/// Releases the pages of all MappedFiles if more than `budget_bytes` of files are resident. Any thread may call it.
void trim_mapped_files(std::uint64_t budget_bytes);

class ReadLimits;

/// The content of a file, decompressed if necessary, for readers that need it as one range of bytes. A small file is
/// kept in memory; a larger one in a mapped work file.
class WholeFile {
 public:
  /// Reads `path`, "-" for standard input. Files larger than 4 MiB or a sixteenth of the memory go to a work file in
  /// resources.tmp_folder. Throws like ByteSource and ReadLimits::add(), and IoError if the folder has no space.
  WholeFile(const std::string& path, ReadLimits limits, const Resources& resources);

  ByteView bytes() const { return is_mapped_ ? mapped_.bytes() : ByteView(memory_); }
  /// Releases the memory of a range of bytes() that is not needed now.
  void release(ByteView part) const {
    if (is_mapped_) release_pages(part);
  }

 private:
  Bytes memory_;
  bool is_mapped_ = false;
  MappedFile mapped_;
};

}  // namespace quern
