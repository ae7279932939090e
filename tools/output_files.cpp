
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <filesystem>

#include "quern/formats/container.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/file.hpp"

#include "command.hpp"
#include "help/help.hpp"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

/// A file or folder that a command line names.
struct NamedFile {
  std::string option, path;
  std::vector<std::string> identities;  ///< equal for the same file, whatever it is called
  std::string folder = {};              ///< that of an input, and an output's that it fills
};

/// Device and inode.
std::string identity_of(const struct stat& status) { return fmt::format("{} {}", status.st_dev, status.st_ino); }

/// The identity of an existing file.
std::optional<std::string> identity_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return identity_of(status);
}

/// The identity of an existing file; of another path, the identity of its deepest existing folder and the rest.
std::string identity_or_place(const std::string& path) {
  if (const auto identity = identity_of(path)) return *identity;
  const fs::path target = target_of_links(path);
  const std::string folder = folder_of(target.string());
  if (folder == path) return path;  // not even that can be looked at
  return identity_or_place(folder) + " " + target.filename().string();
}

/// The identities of a file; of an index's folder, also those of the files in it, and of a name's beginning, those with
/// all endings. Those of an input are only of files that exist: a name without a file is a word, as in
/// --stopwords english, or reported where it is opened.
NamedFile named_file(std::string option, const std::string& path, const FileNaming& naming) {
  const std::string bare = without_end_slashes(path);
  NamedFile file{std::move(option), path, {}};
  const auto add = [&](const std::string& name) {
    if (naming.is_written)
      file.identities.push_back(identity_or_place(name));
    else if (auto identity = identity_of(name))
      file.identities.push_back(std::move(*identity));
  };
  add(bare);
  for (const std::string& member : index_members()) add(bare + "/" + member);
  for (const char* ending : naming.endings) add(bare + ending);
  if (naming.fills_folder) file.folder = file.identities.front();
  if (!naming.is_written) file.folder = identity_or_place(folder_of(bare));
  return file;
}

/// The input that a command reads as "-", if it comes from a file.
std::optional<NamedFile> standard_input(std::string option) {
  struct stat status;
  if (::fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return NamedFile{std::move(option), "- (standard input)", {identity_of(status)}, {}};
}

/// A file that is replaced while standard output goes to it loses what else is written there.
void refuse_standard_output(const NamedFile& file) {
  struct stat status;
  if (::fstat(STDOUT_FILENO, &status) != 0 || S_ISCHR(status.st_mode)) return;
  if (file.identities.front() == identity_of(status))
    throw usage_error("{} {}: is also standard output; omit {}, or choose another name", file.option, file.path,
                      file.option);
}

/// Beside an output there is a temporary file with a longer name until it is complete.
void refuse_long_name(const NamedFile& file, const std::vector<const char*>& endings) {
  constexpr std::size_t added_by_temporary = 32;
  std::size_t added = added_by_temporary;
  for (const char* ending : endings) added = std::max(added, added_by_temporary + std::strlen(ending));
  const std::size_t size = fs::path(target_of_links(without_end_slashes(file.path))).filename().native().size();
  if (size + added > NAME_MAX)
    throw usage_error("{} {}: the name is {} bytes; the limit is {}; choose a shorter one", file.option, file.path,
                      size, NAME_MAX - added);
}

bool are_same(const NamedFile& a, const NamedFile& b) {
  if (!a.folder.empty() && a.folder == b.folder) return true;
  for (const std::string& identity : a.identities)
    if (std::find(b.identities.begin(), b.identities.end(), identity) != b.identities.end()) return true;
  return false;
}

/// The files that the command line names.
struct NamedFiles {
  std::vector<NamedFile> read, written;

  void add(const std::string& option, const std::string& value, const FileNaming& naming) {
    if (naming.is_written) {
      if (value.empty()) throw usage_error("{}: is empty; name a file", option);
      written.push_back(named_file(option, value, naming));
      refuse_long_name(written.back(), naming.endings);
      refuse_standard_output(written.back());
      return;
    }
    if (naming.takes_words && !value.starts_with('@')) return;
    const std::string path = value.substr(naming.takes_words ? 1 : 0);
    if (path == "-") {
      if (auto input = standard_input(option)) read.push_back(std::move(*input));
    } else if (!path.empty()) {
      read.push_back(named_file(option, path, naming));
    }
  }
};

/// The outputs of the command.
std::vector<NamedFile>& all_written() {
  static std::vector<NamedFile> written;
  return written;
}

void refuse_written(const File& file) {
  struct stat status;
  if (::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const std::string identity = identity_of(status);
  for (const NamedFile& output : all_written())
    for (const std::string& written : output.identities)
      if (written == identity)
        throw api::WrongUsage("{} {}: would overwrite {}, which is an input; choose another name", output.option,
                              output.path, file.name());
}

}  // namespace

void refuse_overwritten_inputs(const CLI::App& command) {
  NamedFiles files;
  for (const CLI::Option* option : command.get_options()) {
    const FileNaming* const naming = file_naming(*option);
    if (naming == nullptr || option->empty()) continue;
    for (const std::string& value : option->results()) files.add(option->get_name(), value, *naming);
  }
  const auto& [read, written] = files;
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedFile& input : read)
      if (are_same(written[i], input))
        throw usage_error("{} {}: would overwrite {} {}, which is an input; choose another name", written[i].option,
                          written[i].path, input.option, input.path);
    for (std::size_t j = i + 1; j < written.size(); ++j)
      if (are_same(written[i], written[j]))
        throw usage_error("{} {} and {} {}: are the same file; choose another name for one of them", written[i].option,
                          written[i].path, written[j].option, written[j].path);
  }
  all_written() = files.written;
  File::check_opened(refuse_written);
}

}  // namespace quern::tools
