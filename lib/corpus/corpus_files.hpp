#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

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

/// The files that the arguments name, in their order: files as given (twice where given twice), folders recursively in
/// byte order of the names, "-" as it is. In folders hidden entries are skipped, links are followed unless they
/// lead back into a folder that is being read. Throws IoError, with the path, if something is missing or
/// unreadable, and InvalidArgument if a folder holds no chosen file or nothing is given.
std::vector<CorpusFile> find_corpus_files(const std::vector<std::string>& arguments, const FileChoice& choice = {});

}  // namespace quern
