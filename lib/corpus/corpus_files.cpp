#include "quern/corpus/corpus_files.hpp"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Identifies a folder, whatever path leads to it.
using FolderIdentity = std::pair<dev_t, ino_t>;

struct stat status_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno("can't find", path);
  return status;
}

/// The names in a folder that are not hidden, in byte order.
std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) throw_errno("can't read the folder", folder);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a pattern matches the path below the folder that was named, or its last name.
bool matches(const std::vector<std::string>& patterns, const std::string& below) {
  const std::string name = below.substr(below.rfind('/') + 1);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), below.c_str(), 0) == 0 || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

class FileFinder {
 public:
  explicit FileFinder(const FileChoice& choice) : choice_(choice) {}

  std::vector<CorpusFile> files;

  void add(const std::string& path) {
    if (path == "-") {
      files.push_back({path, 0, false});
      return;
    }
    const struct stat status = status_of(path);
    if (!S_ISDIR(status.st_mode)) {
      add_file(path, status, false);
      return;
    }
    const std::size_t before = files.size();
    add_folder(path, "", status);
    if (files.size() == before && !(choice_.include.empty() && choice_.exclude.empty()))
      throw InvalidArgument(path + ": --include and --exclude leave no file of the folder; check their patterns");
    if (files.size() == before) {
      throw InvalidArgument(path +
                            ": the folder has no files that are not hidden; name a folder or file with documents");
    }
  }

 private:
  void add_file(const std::string& path, const struct stat& status, bool found_in_folder) {
    if (::access(path.c_str(), R_OK) != 0) throw_errno("can't read", path);
    const std::uint64_t size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    files.push_back({path, size, found_in_folder});
  }

  /// `below`: the path of the folder below the one that was named, with a / at its end.
  void add_folder(const std::string& folder, const std::string& below, const struct stat& status) {
    const FolderIdentity identity(status.st_dev, status.st_ino);
    if (std::find(open_folders_.begin(), open_folders_.end(), identity) != open_folders_.end()) return;
    open_folders_.push_back(identity);
    for (const std::string& name : names_in(folder)) {
      const std::string path = folder.back() == '/' ? folder + name : folder + "/" + name;
      if (matches(choice_.exclude, below + name)) continue;
      const struct stat entry = status_of(path);
      if (S_ISDIR(entry.st_mode)) {
        add_folder(path, below + name + "/", entry);
      } else if (S_ISREG(entry.st_mode) && (choice_.include.empty() || matches(choice_.include, below + name))) {
        add_file(path, entry, true);
      }
    }
    open_folders_.pop_back();
  }

  const FileChoice& choice_;
  std::vector<FolderIdentity> open_folders_;  ///< from the argument down to the folder at hand
};

}  // namespace

std::vector<CorpusFile> find_corpus_files(const std::vector<std::string>& arguments, const FileChoice& choice) {
  if (arguments.empty()) throw InvalidArgument("no corpus given; name its files or folders, or - for standard input");
  FileFinder finder(choice);
  for (const std::string& argument : arguments) finder.add(argument);
  return std::move(finder.files);
}

}  // namespace quern
