#pragma once
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// A damaged place in a gzip file.
struct GzipDamage {
  std::uint64_t stored_offset = 0;  ///< in the file, of the damaged member or of foreign data
  /// Bytes read from intact members since the previous damage or the start of the file.
  std::uint64_t sound_bytes = 0;
  const char* reason = nullptr;
};

/// A ByteSource that skips damage in gzip files: where a member is damaged, or other data stands between two, it
/// continues with the next member. Crawls have one member per record. Files of other formats are read as they are.
class DamageSkippingSource : public ByteSource {
 public:
  /// As ByteSource::open().
  static std::unique_ptr<DamageSkippingSource> open(const std::string& path, const ReadInterrupt* interrupt,
                                                    std::uint64_t max_window_bytes);
  /// As above for bytes in memory, with a name for messages.
  static std::unique_ptr<DamageSkippingSource> from_memory(std::string name, std::string bytes);

  /// After read() has returned 0: the damage found there, after which reading continues; empty at the end. Earlier
  /// calls may have returned bytes of the damaged member.
  virtual std::optional<GzipDamage> take_damage() = 0;
};

/// A list of a corpus's files for `--files-from`: one path per line, in corpus order. Blank lines and lines that begin
/// with # are ignored; lines end with LF or CR LF.
class FileList {
 public:
  /// Reads the list `path`, "-" for standard input; plain or compressed. Relative paths in it are relative to the
  /// folder `root`, or to the working folder if that is empty. Throws like WholeFile.
  FileList(const std::string& path, std::string root, const Resources& resources);

  /// Calls visit(path) for each path, in order. Throws InvalidArgument if there is none, or a line is not a valid path;
  /// adds the list's name and the line to InvalidArgument and IoError from `visit`.
  void for_each(const std::function<void(const std::string& path)>& visit) const;
  /// The path, or "standard input".
  const std::string& name() const { return name_; }

  /// Longer lines are not valid paths.
  static constexpr std::size_t max_line_bytes = 64 << 10;
  static constexpr std::uint64_t max_list_bytes = std::uint64_t{1} << 30;

 private:
  std::string name_, root_;
  WholeFile text_;
};

/// A file of a corpus; "-" is standard input. `size_bytes` is its stored size, 0 if unknown.
struct CorpusFile {
  std::string path;
  std::uint64_t size_bytes = 0;
  bool found_in_folder = false;  ///< not named directly
};

/// Selects files of folders: shell patterns (fnmatch; * matches / too) for a file's path relative to the named folder,
/// or for its name. Files named directly are always selected.
struct FileChoice {
  std::vector<std::string> include;  ///< empty means all files
  std::vector<std::string> exclude;  ///< matching folders are excluded as a whole
};

/// Calls visit(file) for the files that the arguments name, in order: files as given (twice if given twice), those of
/// folders recursively in unspecified order, "-" as it is. Hidden entries of folders are skipped; links are followed
/// unless they lead back into a folder being read. Pipes, sockets and devices in folders are skipped: pass_over(path),
/// if given, is called for the selected ones. Throws IoError, with the path, if something is missing or unreadable,
/// including broken links, and InvalidArgument if a folder has no selected file or there are no arguments.
void for_each_corpus_file(const std::vector<std::string>& arguments, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit,
                          const std::function<void(const std::string& path)>& pass_over = {});
/// As above for the paths of a list. Errors also name the list's line.
void for_each_corpus_file(const FileList& list, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit);

/// The files of a corpus in order, numbered from 0. Their paths are in a work file, so memory does not grow with their
/// number. Several threads may read while none adds.
class CorpusFiles {
 public:
  explicit CorpusFiles(const std::string& tmp_folder) : paths_(tmp_folder), rows_(tmp_folder) {}

  /// Throws InvalidArgument if there are 2^32 files.
  void add(const CorpusFile& file);
  /// Adds a source that a program supplies instead of a file; it can be read once. Call once, before add().
  void add_source(std::shared_ptr<ByteSource> source);
  /// Restricts reading to a range of the only file, from find_ranges(). Throws InvalidArgument like
  /// ByteSource::open_range(), and if there are several files.
  void choose_range(const FileRange& range);
  /// The offset of the first byte read: 0 without a range.
  std::uint64_t first_offset() const { return range_ ? range_->from : 0; }
  /// Up to `size` bytes from the start of the file that has the range; empty without a range.
  std::optional<std::string> head_of_range(std::size_t size) const;
  /// The bytes of a file, as from ByteSource::open(), but in any form: in a folder, a file in an unreadable one is
  /// skipped.
  std::shared_ptr<ByteSource> open(std::uint32_t number, const ReadInterrupt& interrupt,
                                   std::uint64_t max_window_bytes) const;
  /// As above, but skips damaged members of a gzip file; null if a program supplies the source, or a range is set.
  std::shared_ptr<DamageSkippingSource> open_skipping_damage(std::uint32_t number, const ReadInterrupt& interrupt,
                                                             std::uint64_t max_window_bytes) const;
  /// Interrupts a read that waits for the supplied source.
  void stop() const noexcept {
    if (source_) source_->stop();
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(rows_.count()); }
  CorpusFile file(std::uint32_t number) const;
  /// Sum of the known sizes.
  std::uint64_t total_bytes() const { return total_bytes_; }

  /// Records a skipped pipe, socket or device of a folder.
  void pass_over(const std::string& path);
  /// Number of skipped entries, and the first max_named of them.
  std::uint64_t num_passed_over() const { return num_passed_over_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  static constexpr std::size_t max_named = 100;

 private:
  struct Row {
    std::uint64_t path_begin, path_bytes, size_bytes, found_in_folder;
  };

  std::shared_ptr<ByteSource> source_;  ///< of the first file; null if it is in the file system
  Spool paths_;
  RecordSpool<Row> rows_;
  std::optional<FileRange> range_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t num_passed_over_ = 0;
  std::vector<std::string> passed_over_;
};

/// The files of for_each_corpus_file(), those of a folder in byte order of their names.
CorpusFiles find_corpus_files(const std::vector<std::string>& arguments, const FileChoice& choice,
                              const Resources& resources);
CorpusFiles find_corpus_files(const FileList& list, const FileChoice& choice, const Resources& resources);

}  // namespace quern
