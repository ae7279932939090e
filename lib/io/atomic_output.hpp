#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/io/file.hpp"

namespace quern {

/// A file, or a folder with files in it, that appears under its name complete or not at all: it is written under a
/// temporary name, synced, and renamed by commit(). Without commit() nothing is left. A killed process leaves
/// `.NAME.quern-tmp-…`, which the next output of the same name removes (a lock marks those still in use). If the name
/// is a symbolic link, its target is written, and the link stays.
class AtomicOutput {
 public:
  /// Throws InvalidArgument if `path` is a folder, or exists and `force` is not set; IoError if its folder can't be
  /// written.
  static AtomicOutput file(const std::string& path, bool force);
  /// A folder that may contain files with the names `members`: the first of them is begun at once, others by
  /// add_member(). With `force` it replaces an empty folder, or one that contains the first of them and perhaps others,
  /// never any other.
  static AtomicOutput folder(const std::string& path, std::vector<std::string> members, bool force);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  /// The file to write to; of a folder, its first one.
  File& file() { return files_.front(); }
  /// Begins another file of the folder, one of its `members`, each at most once. It is valid as long as file() is.
  /// Throws IoError.
  File& add_member(const std::string& name);
  const std::string& path() const { return path_; }
  /// Gives the output its name. Throws IoError, and leaves what was there before.
  void commit();
  /// Gives several outputs their names. If one can't have it, the others lose theirs again, and what was there before
  /// is back. Only a process that is killed in between can leave a part of them.
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
  std::vector<std::string> members_;  ///< names that the folder's files may have; empty: the output is a file
  bool force_;
  std::string parent_;
  std::string temporary_path_;
  bool replaced_ = false;   ///< the temporary name is that of the output which this one replaced
  std::deque<File> files_;  ///< those begun so far; a deque, since they must not move
  int lock_ = -1;           ///< descriptor of the temporary file or folder, locked during the object's life
};

/// Removes what all outputs of this process have written so far, and keeps them from being committed: to be called
/// before the process ends at once, as after a signal. Returns the names that the outputs were to have. Thread-safe; a
/// commit() that has begun is waited for.
std::vector<std::string> discard_unfinished_outputs();

/// Where a path leads: the path itself, or the target of a symbolic link, which need not exist. Throws IoError if links
/// lead in a circle.
std::string target_of_links(const std::string& path);

/// A path as the system knows it, "a/b" for "a/b/".
std::string without_end_slashes(std::string path);

/// The folder part of a path, with or without slashes at its end; "." if it has none.
std::string folder_of(const std::string& path);

}  // namespace quern
