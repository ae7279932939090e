#pragma once
#include "quern/core/types.hpp"
#include "quern/io/file.hpp"

namespace quern {

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

}  // namespace quern
