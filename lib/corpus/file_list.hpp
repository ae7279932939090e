#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/io/whole_file.hpp"

namespace quern {

/// A list of the files of a corpus, as `--files-from` takes it: a path on each line, in the corpus's order. Blank lines
/// and lines that begin with # are passed over; lines end with LF or CR LF.
class FileList {
 public:
  /// Reads the list `path`, "-" for standard input; plain, gzip or zstd. Relative paths in it are taken from the folder
  /// `root`, or from the working folder if that is empty. Throws what WholeFile throws.
  FileList(const std::string& path, std::string root, const Resources& resources);

  /// Calls visit(path) for each path, in order. Throws InvalidArgument if there is none, or a line can't be one; what
  /// `visit` throws of InvalidArgument and IoError comes out with the list's name and the line.
  void for_each(const std::function<void(const std::string& path)>& visit) const;
  /// The path, or "standard input".
  const std::string& name() const { return name_; }

  /// A line of more bytes is no path.
  static constexpr std::size_t max_line_bytes = 64 << 10;

 private:
  std::string name_, root_;
  WholeFile text_;
};

}  // namespace quern
