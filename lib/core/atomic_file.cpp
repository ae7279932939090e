#include "quern/core/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "quern/core/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string temporary_prefix(const fs::path& path) { return "." + path.filename().string() + ".quern-tmp-"; }

/// Removes what killed runs left: files with our prefix whose lock nobody holds.
void remove_leftovers(const std::string& folder, const std::string& prefix) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

void refuse_existing(const std::string& path, bool force) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) throw InvalidArgument(path + ": is a folder; name a file, or remove it");
  if (fs::exists(status) && !force) throw InvalidArgument(path + ": exists already; --force overwrites it");
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(std::string path, bool force) : path_(std::move(path)), force_(force) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  folder_ = folder_of(path_);
  refuse_existing(path_, force_);
  const std::string prefix = temporary_prefix(path_);
  remove_leftovers(folder_, prefix);
  for (int attempt = 0;; ++attempt) {
    temporary_path_ = folder_ + "/" + prefix + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    if (fs::exists(temporary_path_)) continue;
    file_.emplace(File::create(temporary_path_));
    break;
  }
  ::flock(file_->descriptor(), LOCK_EX | LOCK_NB);
  file_->rename_for_messages(path_);
}

AtomicFile::~AtomicFile() {
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void AtomicFile::commit() {
  file_->sync();
  if (!force_) {
    // link() fails where another run has put a file there meanwhile, rename() would overwrite it.
    if (::link(temporary_path_.c_str(), path_.c_str()) == 0) {
      ::unlink(temporary_path_.c_str());
    } else if (errno == EEXIST) {
      refuse_existing(path_, false);
    } else if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
      throw_errno("can't rename to", path_);
    }
  } else if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    throw_errno("can't rename to", path_);
  }
  temporary_path_.clear();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace quern
