#include "quern/io/atomic_output.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string temporary_prefix(const std::string& path) {
  return "." + fs::path(path).filename().string() + ".quern-tmp-";
}

/// An open folder; null if it can't be opened.
using OpenFolder = std::unique_ptr<DIR, int (*)(DIR*)>;

OpenFolder open_folder(const char* path) { return {::opendir(path), ::closedir}; }

/// Calls visit(descriptor, name) for each entry of a folder. Not with std::filesystem, whose iterators end the program
/// when memory runs out.
template <class Visit>
void for_each_name(const OpenFolder& folder, Visit&& visit) {
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(::dirfd(folder.get()), entry->d_name);
  }
}

/// As above for a path; does nothing if it can't be read.
template <class Visit>
void for_each_name(const char* path, Visit&& visit) {
  if (const OpenFolder folder = open_folder(path)) for_each_name(folder, visit);
}

/// Removes a file, or a folder of files. Allocates nothing, so destructors may call it.
void remove_tree(const std::string& path) noexcept {
  if (::unlink(path.c_str()) == 0 || (errno != EISDIR && errno != EPERM)) return;
  for_each_name(path.c_str(), [](int folder, const char* name) { ::unlinkat(folder, name, 0); });
  ::rmdir(path.c_str());
}

/// Removes the leftovers of killed processes: entries with this output's prefix that no process has locked.
void remove_leftovers(const std::string& parent, const std::string& prefix) {
  for_each_name(parent.c_str(), [&](int, const char* name) {
    if (!std::string_view(name).starts_with(prefix)) return;
    const std::string path = parent + "/" + name;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) remove_tree(path);
    ::close(descriptor);
  });
}

/// Whether a folder is empty, or contains the first of `members`, perhaps others of them, and nothing else; all must be
/// regular files.
bool holds_only(const OpenFolder& folder, const std::vector<std::string>& members) {
  bool only = true, is_empty = true, has_first = false;
  for_each_name(folder, [&](int descriptor, const char* name) {
    struct stat status;
    only = only && std::find(members.begin(), members.end(), name) != members.end() &&
           ::fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
    is_empty = false;
    has_first = has_first || name == members.front();
  });
  return only && (is_empty || has_first);
}

bool has_path(const OpenFolder& folder, const std::string& path) {
  struct stat ours, there;
  return ::fstat(::dirfd(folder.get()), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/// As above for a path. A folder that another process has just replaced loses its files one by one.
bool holds_only(const std::string& path, const std::vector<std::string>& members) {
  while (::access(path.c_str(), R_OK | X_OK) == 0) {
    const OpenFolder folder = open_folder(path.c_str());
    if (!folder) return false;
    if (holds_only(folder, members)) return true;
    if (has_path(folder, path)) return false;
  }
  return false;
}

bool may_be_replaced(const fs::file_status& status, const std::string& path, const std::vector<std::string>& members) {
  if (members.empty()) return fs::is_regular_file(status);
  return fs::is_directory(status) && holds_only(path, members);
}

void refuse_existing(const std::string& path, const std::vector<std::string>& members, bool force) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status)) return;
  if (!may_be_replaced(status, path, members)) {
    throw InvalidArgument(
        "{}{}; choose another name, or remove it", path,
        fs::is_directory(status) ? ": is a folder that contains other files" : ": is a file that Quern did not write");
  }
  if (!force) throw InvalidArgument(path + ": already exists; use " + option_name<"force"> + " to overwrite it");
}

/// Swaps two paths atomically; false if the file system can't.
bool swap_paths(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

/// Renames; false if the target exists.
bool rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) throw_errno("can't rename to", to);
  if (fs::exists(to)) return false;
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("can't rename to", to);
  return true;
}

/// Renames `path` to `aside` and `replacement` to `path`; undoes the first if the second fails.
void move_aside(const std::string& path, const std::string& aside, const std::string& replacement) {
  if (::rename(path.c_str(), aside.c_str()) != 0) throw_errno("can't rename", path);
  if (::rename(replacement.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  if (::rename(aside.c_str(), path.c_str()) != 0)
    throw IoError(path + ": can't be replaced or restored; it is now in " + aside);
  errno = error;
  throw_errno("can't rename to", path);
}

void sync_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// The temporary files and folders of this process that exist now, with their final names. Creating, renaming and
/// removing one requires the lock.
class Unfinished {
 public:
  /// Never destroyed: a thread may discard outputs while the process exits.
  static Unfinished& all() {
    static auto* const unfinished = new Unfinished;
    return *unfinished;
  }
  /// Blocks forever after discard_all(): the process is about to end, and no output may appear any more.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  void add(const std::string& temporary, const std::string& name) { outputs_.push_back({temporary, name}); }
  void remove(const std::string& temporary) {
    std::erase_if(outputs_, [&](const Output& output) { return output.temporary == temporary; });
  }
  std::vector<std::string> discard_all() {
    mutex_.lock();  // never unlocked
    std::vector<std::string> names;
    for (const Output& output : outputs_) {
      remove_tree(output.temporary);
      names.push_back(output.name);
    }
    return names;
  }

 private:
  struct Output {
    std::string temporary, name;
  };
  std::mutex mutex_;
  std::vector<Output> outputs_;
};

}  // namespace

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::vector<std::string> discard_unfinished_outputs() { return Unfinished::all().discard_all(); }

std::string target_of_links(const std::string& path) {
  constexpr int max_links = 40;  // Linux's limit
  fs::path target = path;
  std::error_code ignored;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, ignored)); ++links) {
    if (links == max_links) {
      errno = ELOOP;
      throw_errno("can't follow", path);
    }
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  return target.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(without_end_slashes(path)).parent_path().string();
  return folder.empty() ? "." : folder;
}

AtomicOutput AtomicOutput::file(const std::string& path, bool force) { return AtomicOutput(path, {}, force); }

AtomicOutput AtomicOutput::folder(const std::string& path, std::vector<std::string> members, bool force) {
  if (members.empty()) throw Error("atomic output: a folder needs at least one file");
  return AtomicOutput(path, std::move(members), force);
}

AtomicOutput::AtomicOutput(std::string path, std::vector<std::string> members, bool force)
    : path_(std::move(path)), members_(std::move(members)), force_(force) {
  path_ = target_of_links(without_end_slashes(path_));
  parent_ = folder_of(path_);
  refuse_existing(path_, members_, force_);
  remove_leftovers(parent_, temporary_prefix(path_));
  try {
    create_temporary();
  } catch (...) {
    discard();
    throw;
  }
}

/// Creates the temporary file or folder and locks it. False if the name is taken, or if another process removed the
/// entry as a leftover before the lock was taken.
bool AtomicOutput::create_locked(const std::string& path) {
  if (fs::exists(path)) return false;
  auto lock = Unfinished::all().lock();
  // Registered first: running out of memory later must not leave an unregistered file.
  std::string noted = path;
  Unfinished::all().add(path, path_);
  try {
    if (!is_folder())
      files_.push_back(File::create(path));
    else if (::mkdir(path.c_str(), 0777) != 0)
      throw_errno("can't create", path);
  } catch (...) {
    Unfinished::all().remove(path);
    throw;
  }
  temporary_path_ = std::move(noted);
  lock.unlock();
  lock_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int open_error = lock_ < 0 ? errno : 0;
  if (open_error != 0 && open_error != ENOENT) {
    discard();
    errno = open_error;
    throw_errno("can't open", path);
  }
  // Leftovers stay on file systems without locks.
  const bool ours = lock_ >= 0 && (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fs::exists(path);
  if (!ours) discard();
  return ours;
}

void AtomicOutput::create_temporary() {
  const std::string stem = parent_ + "/" + temporary_prefix(path_) + std::to_string(::getpid()) + "-";
  for (int attempt = 0; !create_locked(stem + std::to_string(attempt));) ++attempt;
  if (is_folder())
    create_member(members_.front());
  else
    files_.back().rename_for_messages(path_);
}

File& AtomicOutput::create_member(const std::string& name) {
  const std::string temporary = temporary_path_ + "/" + name;
  std::string final_name = path_ + "/" + name;
  const auto lock = Unfinished::all().lock();
  files_.push_back(File::create(temporary));
  files_.back().rename_for_messages(std::move(final_name));
  return files_.back();
}

File& AtomicOutput::add_member(const std::string& name) {
  if (std::find(members_.begin(), members_.end(), name) == members_.end())
    throw Error("atomic output: " + name + " is not one of the folder's members");
  return create_member(name);
}

/// Removes the temporary file or folder, if any, and releases its lock.
void AtomicOutput::discard() {
  if (!temporary_path_.empty()) {
    const auto lock = Unfinished::all().lock();
    Unfinished::all().remove(temporary_path_);
    remove_tree(std::exchange(temporary_path_, {}));
  }
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  files_.clear();
}

AtomicOutput::~AtomicOutput() { discard(); }

/// Afterwards the replaced output has the temporary name.
void AtomicOutput::exchange_with_old() {
  if (swap_paths(temporary_path_, path_)) return;
  // Without an atomic exchange the output is missing for a moment, but never incomplete.
  std::string aside = temporary_path_ + "-old";
  // Registered first, since nothing may fail after the renames. Discarding waits for the lock.
  Unfinished::all().add(aside, path_);
  try {
    move_aside(path_, aside, temporary_path_);
  } catch (...) {
    Unfinished::all().remove(aside);
    throw;
  }
  Unfinished::all().remove(temporary_path_);
  temporary_path_.swap(aside);
}

/// Renames the output to its final name. A replaced folder gets the temporary name; so does a replaced file if
/// `keeps_old`.
void AtomicOutput::take_place(bool keeps_old) {
  if (rename_to_new(temporary_path_, path_)) return;
  refuse_existing(path_, members_, force_);
  if (is_folder() || keeps_old) {
    exchange_with_old();
    replaced_ = true;
  } else if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    throw_errno("can't rename to", path_);
  }
}

/// Undoes take_place() as far as the file system allows.
void AtomicOutput::leave_place() noexcept {
  if (!replaced_)
    ::rename(path_.c_str(), temporary_path_.c_str());
  else if (!swap_paths(temporary_path_, path_))
    ::rename(temporary_path_.c_str(), path_.c_str());
}

void AtomicOutput::sync() {
  for (File& file : files_) file.sync();
  if (is_folder()) sync_folder(temporary_path_);
}

/// After take_place(): removes the replaced output.
void AtomicOutput::finish() {
  Unfinished::all().remove(temporary_path_);
  if (replaced_) remove_tree(temporary_path_);
  temporary_path_.clear();
}

void AtomicOutput::commit() {
  sync();
  const auto lock = Unfinished::all().lock();
  take_place(false);
  finish();
  sync_folder(parent_);
}

void AtomicOutput::commit_together(std::span<const std::unique_ptr<AtomicOutput>> outputs) {
  for (const auto& output : outputs) output->sync();
  const auto lock = Unfinished::all().lock();
  std::size_t placed = 0;
  try {
    for (; placed < outputs.size(); ++placed) outputs[placed]->take_place(true);
  } catch (...) {
    while (placed > 0) outputs[--placed]->leave_place();
    throw;
  }
  for (const auto& output : outputs) output->finish();
  for (const auto& output : outputs) sync_folder(output->parent_);
}

}  // namespace quern
