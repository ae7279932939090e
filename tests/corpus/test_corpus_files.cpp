#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/corpus_files.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

CorpusFiles find_files(const std::vector<std::string>& arguments) {
  return find_corpus_files(arguments, {}, default_resources());
}

std::vector<std::string> paths(const std::vector<std::string>& arguments) {
  const CorpusFiles files = find_files(arguments);
  std::vector<std::string> found;
  for (std::uint32_t number = 0; number < files.size(); ++number) found.push_back(files.file(number).path);
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

TEST_CASE("Any number of files in any folders are sorted by name", "[corpus]") {
  const TemporaryFolder folder;
  RandomBits random(1);
  const std::string characters = "ab.-/ \xc3~";
  std::set<std::vector<std::string>> names;  // folder by folder
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> name(1 + random.below(4));
    for (std::string& part : name) {
      part = i % 2 == 0 ? "f" : "g";
      for (std::uint64_t length = random.below(3); length > 0; --length)
        if (const char c = characters[random.below(characters.size())]; c != '/') part += c;
    }
    name.back() += "_";  // so that no folder has this name
    names.insert(std::move(name));
  }
  const std::string top = folder.path("");
  std::vector<std::string> expected;
  for (const std::vector<std::string>& name : names) {
    std::string path;
    for (const std::string& part : name) path += (path.empty() ? "" : "/") + part;
    folder.write(path, path);
    expected.push_back(top + path);
  }
  CHECK(paths({top}) == expected);
  Resources little = default_resources();
  little.memory_bytes = 1 << 20;
  little.tmp_folder = top;
  const CorpusFiles files = find_corpus_files({top, top}, {}, little);
  REQUIRE(files.size() == 2 * expected.size());
  for (std::uint32_t number = 0; number < files.size(); ++number) {
    const CorpusFile file = files.file(number);
    REQUIRE(file.path == expected[number % expected.size()]);
    REQUIRE(file.size_bytes == file.path.size() - top.size());
    REQUIRE(file.found_in_folder);
  }
}

TEST_CASE("Files are listed in the given order with their sizes, twice if given twice", "[corpus]") {
  const TemporaryFolder folder;
  const std::string file = folder.write(".named", "12345");
  const CorpusFiles found = find_files({file, "-", file});
  REQUIRE(found.size() == 3);
  CHECK(found.file(0).path == file);
  CHECK(found.file(0).size_bytes == 5);
  CHECK_FALSE(found.file(0).found_in_folder);
  CHECK(found.file(1).path == "-");
  CHECK(found.file(1).size_bytes == 0);
  CHECK(found.file(2).path == file);
  CHECK(found.total_bytes() == 10);
}

TEST_CASE("Links to folders are followed, but never in a cycle", "[corpus]") {
  const TemporaryFolder folder;
  folder.write("real/1", "x");
  std::filesystem::create_directory_symlink(folder.path("real"), folder.path("link"));
  std::filesystem::create_directory_symlink(folder.path(""), folder.path("real/up"));
  // From the top, "link" leads into "real", and "up" back to the top.
  CHECK(paths({folder.path("")}) == std::vector<std::string>{folder.path("link/1"), folder.path("real/1")});
}

TEST_CASE("Pipes in folders are skipped and reported; a folder with nothing else is an error", "[corpus]") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("a/pipe"), file = folder.write("a/b", "x");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const CorpusFiles files = find_files({folder.path("a")});
  CHECK(files.size() == 1);
  CHECK(files.num_passed_over() == 1);
  CHECK(files.passed_over() == std::vector<std::string>{pipe});
  CHECK(find_corpus_files({folder.path("a")}, {{"b"}, {}}, default_resources()).num_passed_over() == 0);
  CHECK(find_corpus_files({folder.path("a")}, {{}, {"pipe"}}, default_resources()).num_passed_over() == 0);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH(find_files({folder.path("a")}), Catch::Matchers::StartsWith(folder.path("a")) &&
                                                        Catch::Contains("only pipes") && Catch::Contains(pipe));
}

TEST_CASE("A broken link in a folder is an error with name and remedy, unless excluded", "[corpus]") {
  const TemporaryFolder folder;
  folder.write("a.txt", "x");
  std::filesystem::create_symlink(folder.path("nowhere"), folder.path("link.txt"));
  const std::string top = folder.path("");
  CHECK_THROWS_WITH(find_files({top}), Catch::Contains(folder.path("link.txt") + ": it is a link to something that") &&
                                           Catch::Contains(option_name<"exclude">));
  CHECK_THROWS_AS(find_files({top}), IoError);
  CHECK(find_corpus_files({top}, {{}, {"link.*"}}, default_resources()).size() == 1);
  CHECK(find_corpus_files({top}, {{"a.*"}, {}}, default_resources()).size() == 1);
}

TEST_CASE("Missing files and empty folders are errors that name them", "[corpus]") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("empty/inside"));
  const auto complaint = [](const std::string& path) -> std::string {
    try {
      find_files({path});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(complaint(folder.path("typo")).find(folder.path("typo")) != std::string::npos);
  CHECK(complaint(folder.path("empty")).find(folder.path("empty")) != std::string::npos);
  CHECK_THROWS_AS(find_files({folder.path("typo")}), IoError);
  CHECK_THROWS_AS(find_files({folder.path("empty")}), InvalidArgument);
  CHECK_THROWS_AS(find_files({}), InvalidArgument);
}
