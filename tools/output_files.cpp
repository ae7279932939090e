#include "output_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/formats/container.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "help/command_text.hpp"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

std::set<const CLI::Option*>& outputs() {
  static std::set<const CLI::Option*> options;
  return options;
}

/// A file or folder that a command line names.
struct NamedFile {
  std::string option, path;
  std::vector<std::string> identities;  ///< equal for the same file, whatever it is called
};

/// Device and inode of what is there.
std::optional<std::string> identity_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return fmt::format("{} {}", status.st_dev, status.st_ino);
}

/// The identities of a file; of an index's folder, also that of the file in it. A file that is not there yet has the
/// place where it will be written.
NamedFile named_file(std::string option, const std::string& path) {
  NamedFile file{std::move(option), path, {}};
  if (const auto identity = identity_of(path)) {
    file.identities.push_back(*identity);
    if (const auto member = identity_of(path + "/" + index_member)) file.identities.push_back(*member);
  } else {
    const fs::path target = target_of_links(path);
    const auto folder = identity_of(folder_of(target.string()));
    if (folder) file.identities.push_back(*folder + " " + target.filename().string());
  }
  return file;
}

bool are_same(const NamedFile& a, const NamedFile& b) {
  for (const std::string& identity : a.identities)
    if (std::find(b.identities.begin(), b.identities.end(), identity) != b.identities.end()) return true;
  return false;
}

}  // namespace

CLI::Option* mark_output(CLI::Option* option) {
  outputs().insert(option);
  return option;
}

void refuse_overwritten_inputs(const CLI::App& command) {
  std::vector<NamedFile> read, written;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_expected_max() == 0 || option->empty()) continue;
    const bool is_output = outputs().count(option) > 0;
    if (!is_output && !describe(*option).is_file()) continue;
    for (const std::string& path : option->results()) {
      // A name of an input without a file is a word, as in --stopwords english, or an error of its own.
      if (path.empty() || path == "-" || (!is_output && !identity_of(path))) continue;
      (is_output ? written : read).push_back(named_file(option->get_name(), path));
    }
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedFile& input : read)
      if (are_same(written[i], input))
        throw usage_error(fmt::format("{} {}: would overwrite {} {}, which is read; choose another name",
                                      written[i].option, written[i].path, input.option, input.path));
    for (std::size_t j = i + 1; j < written.size(); ++j)
      if (are_same(written[i], written[j]))
        throw usage_error(fmt::format("{} {} and {} {}: are the same file; choose another name for one of them",
                                      written[i].option, written[i].path, written[j].option, written[j].path));
  }
}

}  // namespace quern::tools
