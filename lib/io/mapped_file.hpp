#pragma once
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

}  // namespace quern
