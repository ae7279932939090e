#include <filesystem>

#include "quern/core/error.hpp"
#include "quern/corpus/corpus_files.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

std::vector<std::string> paths(const std::vector<std::string>& arguments) {
  std::vector<std::string> found;
  for (const CorpusFile& file : find_corpus_files(arguments)) found.push_back(file.path);
  return found;
}

}  // namespace

TEST_CASE("Folders are read recursively, in the byte order of the names", "[corpus]") {
  const TemporaryFolder folder;
  for (const char* name : {"b.txt", "a/z", "a/B", "a.txt", "a/c/1", "C"}) folder.write(name, "x");
  folder.write(".hidden", "x");
  folder.write("a/.cache/1", "x");
  const std::string top = folder.path("");
  CHECK(paths({top}) ==
        std::vector<std::string>{top + "C", top + "a/B", top + "a/c/1", top + "a/z", top + "a.txt", top + "b.txt"});
  const std::string sub = folder.path("a");
  CHECK(paths({sub}) == std::vector<std::string>{sub + "/B", sub + "/c/1", sub + "/z"});
}

TEST_CASE("Files are listed in the given order with their sizes, twice if given twice", "[corpus]") {
  const TemporaryFolder folder;
  const std::string file = folder.write(".named", "12345");
  const std::vector<CorpusFile> found = find_corpus_files({file, "-", file});
  REQUIRE(found.size() == 3);
  CHECK(found[0].path == file);
  CHECK(found[0].size_bytes == 5);
  CHECK(found[1].path == "-");
  CHECK(found[1].size_bytes == 0);
  CHECK(found[2].path == file);
}

TEST_CASE("Links to folders are followed, but never in a cycle", "[corpus]") {
  const TemporaryFolder folder;
  folder.write("real/1", "x");
  std::filesystem::create_directory_symlink(folder.path("real"), folder.path("link"));
  std::filesystem::create_directory_symlink(folder.path(""), folder.path("real/up"));
  // From the top, "link" leads into "real", and "up" back to the top.
  CHECK(paths({folder.path("")}) == std::vector<std::string>{folder.path("link/1"), folder.path("real/1")});
}

TEST_CASE("What is missing or empty is an error that names it", "[corpus]") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("empty/inside"));
  const auto complaint = [](const std::string& path) -> std::string {
    try {
      find_corpus_files({path});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(complaint(folder.path("typo")).find(folder.path("typo")) != std::string::npos);
  CHECK(complaint(folder.path("empty")).find(folder.path("empty")) != std::string::npos);
  CHECK_THROWS_AS(find_corpus_files({folder.path("typo")}), IoError);
  CHECK_THROWS_AS(find_corpus_files({folder.path("empty")}), InvalidArgument);
  CHECK_THROWS_AS(find_corpus_files({}), InvalidArgument);
}
