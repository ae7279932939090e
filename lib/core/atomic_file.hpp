#pragma once
#include <optional>
#include <string>

#include "quern/core/file.hpp"

namespace quern {

/// A file that appears under its name whole, or not at all: written beside it, synced, renamed by commit().
/// Without commit() nothing is left. A killed process leaves `.NAME.quern-tmp-…`, which the next AtomicFile of the
/// same name removes (a lock tells the living from the dead).
class AtomicFile {
 public:
  /// Throws InvalidArgument where `path` exists and `force` is not set, or is a folder; IoError where its folder
  /// can't be written.
  AtomicFile(std::string path, bool force);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  File& file() { return *file_; }
  const std::string& path() const { return path_; }
  /// The folder that holds it: where work files go unless told otherwise.
  const std::string& folder() const { return folder_; }
  void commit();

 private:
  std::string path_;
  std::string folder_;
  std::string temporary_path_;
  std::optional<File> file_;
  bool force_;
};

/// The folder part of a path; "." where it has none.
std::string folder_of(const std::string& path);

}  // namespace quern
