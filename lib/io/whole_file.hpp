#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/io/mapped_file.hpp"

namespace quern {

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
