#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/damage_skipping.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"

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

/// A file of a corpus, as it is opened; "-" is standard input. `size_bytes` is its stored size, 0 if that isn't
/// known.
struct CorpusFile {
  std::string path;
  std::uint64_t size_bytes = 0;
  bool found_in_folder = false;  ///< it was not named itself
};

/// Which files of folders belong to a corpus: patterns as the shell's (fnmatch; * matches / too), of a file's path
/// below the folder that was named, or of its name. Files that are named themselves always belong to it.
struct FileChoice {
  std::vector<std::string> include;  ///< none: all files
  std::vector<std::string> exclude;  ///< folders that match are left out as a whole
};

/// Calls visit(file) for the files that the arguments name, in their order: files as given (twice where given twice),
/// those of folders recursively and in no certain order, "-" as it is. In folders hidden entries are skipped, links are
/// followed unless they lead back into a folder that is being read. Pipes, sockets and devices in folders belong to no
/// corpus: pass_over(path), if given, is called for those that are chosen. Throws IoError, with the path, if something
/// is missing or unreadable, links to nothing among it, and InvalidArgument if a folder holds no chosen file or nothing
/// is given.
void for_each_corpus_file(const std::vector<std::string>& arguments, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit,
                          const std::function<void(const std::string& path)>& pass_over = {});
/// The same for the paths of a list. What is thrown names the list's line, too.
void for_each_corpus_file(const FileList& list, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit);

/// The files of a corpus in order, numbered from 0. They wait in a work file: memory does not grow with their number.
/// Several threads may read while none adds.
class CorpusFiles {
 public:
  explicit CorpusFiles(const std::string& tmp_folder) : paths_(tmp_folder), rows_(tmp_folder) {}

  /// Throws InvalidArgument if there are 2^32 files.
  void add(const CorpusFile& file);
  /// Adds what a program hands over in place of a file; it can be read once. To be called once, before anything else.
  void add_source(std::shared_ptr<ByteSource> source);
  /// Reads only some bytes of the only file: one of find_ranges(). Throws InvalidArgument as ByteSource::open_range()
  /// does, and if there are several files.
  void choose_range(const FileRange& range);
  /// Where the bytes that are read begin in their files: 0 without a range.
  std::uint64_t first_offset() const { return range_ ? range_->from : 0; }
  /// The first bytes of the file that the range is of, up to `size`; nothing without a range.
  std::optional<std::string> head_of_range(std::size_t size) const;
  /// The bytes of a file, as ByteSource::open() has them.
  std::shared_ptr<ByteSource> open(std::uint32_t number, const ReadInterrupt& interrupt,
                                   std::uint64_t max_window_bytes) const;
  /// The same, but damaged members of a gzip file are skipped; null if a program hands the file over, or a range is
  /// read.
  std::shared_ptr<DamageSkippingSource> open_skipping_damage(std::uint32_t number, const ReadInterrupt& interrupt,
                                                             std::uint64_t max_window_bytes) const;
  /// Ends a read that waits for the source that was added.
  void stop() const noexcept {
    if (source_) source_->stop();
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(rows_.count()); }
  CorpusFile file(std::uint32_t number) const;
  /// Sum of the known sizes.
  std::uint64_t total_bytes() const { return total_bytes_; }

  /// Notes a pipe, socket or device of a folder, which is passed over.
  void pass_over(const std::string& path);
  /// Number of those, and the first max_named of them that were found.
  std::uint64_t num_passed_over() const { return num_passed_over_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  static constexpr std::size_t max_named = 100;

 private:
  struct Row {
    std::uint64_t path_begin, path_bytes, size_bytes, found_in_folder;
  };

  std::shared_ptr<ByteSource> source_;  ///< of the first file; null: the file system has it
  Spool paths_;
  RecordSpool<Row> rows_;
  std::optional<FileRange> range_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t num_passed_over_ = 0;
  std::vector<std::string> passed_over_;
};

/// The files of for_each_corpus_file(), those of a folder in byte order of the names.
CorpusFiles find_corpus_files(const std::vector<std::string>& arguments, const FileChoice& choice,
                              const Resources& resources);
CorpusFiles find_corpus_files(const FileList& list, const FileChoice& choice, const Resources& resources);

}  // namespace quern
