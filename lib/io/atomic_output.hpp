#pragma once
#include <deque>

#include "quern/io/file.hpp"

namespace quern {

/// A file, or a folder of files, that appears under its name complete or not at all: it is written under a temporary
/// name and synced, and commit() renames it. Without commit() nothing is left. A killed process leaves
/// `.NAME.quern-tmp-…`, which the next output of the same name removes; a lock marks those in use. If the name is a
/// symbolic link, its target is written and the link stays.
class AtomicOutput {
 public:
  /// Throws InvalidArgument if `path` is a folder, or exists and `force` is false; IoError if its folder can't be
  /// written.
  static AtomicOutput file(const std::string& path, bool force);
  /// A folder that may contain the files `members`: the first is created at once, the others by add_member(). With
  /// `force` it replaces an empty folder, or one that contains the first member and perhaps others, but no other
  /// folder.
  static AtomicOutput folder(const std::string& path, std::vector<std::string> members, bool force);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  /// The file to write to; in a folder, its first member.
  File& file() { return files_.front(); }
  /// Creates another of the folder's `members`, each at most once. The reference is valid as long as file() is. Throws
  /// IoError.
  File& add_member(const std::string& name);
  const std::string& path() const { return path_; }
  /// Renames the output to its final name. Throws IoError and keeps the existing output if that fails.
  void commit();
  /// Commits several outputs. If one fails, the others are undone and the existing outputs restored. Only a process
  /// killed in between can leave some of them committed.
  static void commit_together(std::span<const std::unique_ptr<AtomicOutput>> outputs);

 private:
  AtomicOutput(std::string path, std::vector<std::string> members, bool force);
  bool is_folder() const { return !members_.empty(); }
  void create_temporary();
  File& create_member(const std::string& name);
  bool create_locked(const std::string& path);
  void discard();
  void sync();
  void take_place(bool keeps_old);
  void leave_place() noexcept;
  void finish();
  void exchange_with_old();

  std::string path_;
  std::vector<std::string> members_;  ///< allowed names of the folder's files; empty if the output is a file
  bool force_;
  std::string parent_;
  std::string temporary_path_;
  bool replaced_ = false;   ///< the replaced output now has the temporary name
  std::deque<File> files_;  ///< created so far; a deque, since they must not move
  int lock_ = -1;           ///< descriptor of the temporary file or folder, locked for the object's lifetime
};

/// Removes everything that uncommitted outputs of this process have written and blocks their commit: call it before the
/// process ends abruptly, as after a signal. Returns the outputs' final names. Thread-safe; waits for a commit() in
/// progress.
std::vector<std::string> discard_unfinished_outputs();

/// Follows symbolic links: returns the final target, which need not exist, or the path itself. Throws IoError for
/// circular links.
std::string target_of_links(const std::string& path);

/// `path` without slashes at its end: "a/b" for "a/b/".
std::string without_end_slashes(std::string path);

/// The folder part of a path, ignoring slashes at the path's end; "." if there is none.
std::string folder_of(const std::string& path);

}  // namespace quern
