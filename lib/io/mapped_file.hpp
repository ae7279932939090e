#pragma once
#include "quern/core/types.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// A file's bytes in memory, read-only, loaded by the system as they are touched.
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

/// Lets the system have back the memory of the whole pages of `mapped`, a part of a file that is mapped for reading:
/// they come anew from the file when they are touched again. So one pass over a large file holds little of it at a
/// time.
void give_back_pages(ByteView mapped);

}  // namespace quern
