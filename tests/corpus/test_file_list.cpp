#include "quern/core/error.hpp"
#include "quern/corpus/corpus_files.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using quern::testing::gzipped;
using quern::testing::TemporaryFolder;
using quern::testing::zstd_packed;

namespace {

FileList read_list(const TemporaryFolder& folder, const std::string& text, const std::string& root = {}) {
  return FileList(folder.write("list", text), root, default_resources());
}

std::vector<std::string> paths_of(const FileList& list) {
  std::vector<std::string> paths;
  list.for_each([&](const std::string& path) { paths.push_back(path); });
  return paths;
}

}  // namespace

TEST_CASE("A file list gives its paths in order, for any line ends and compression", "[corpus]") {
  const TemporaryFolder folder;
  const std::string text = "\xef\xbb\xbf# of a crawl\r\nb/2.warc.gz\r\n\r\n   \n/a/1.warc.gz\n#b/3\nb/2.warc.gz";
  const std::vector<std::string> expected = {"b/2.warc.gz", "/a/1.warc.gz", "b/2.warc.gz"};
  for (const std::string& stored : {text, gzipped(text), zstd_packed(text)}) {
    CHECK(paths_of(read_list(folder, stored)) == expected);
    for (const char* root : {"crawl", "crawl/"})
      CHECK(paths_of(read_list(folder, stored, root)) ==
            std::vector<std::string>{"crawl/b/2.warc.gz", "/a/1.warc.gz", "crawl/b/2.warc.gz"});
  }
}

TEST_CASE("Errors in a file list have its name and line", "[corpus]") {
  const TemporaryFolder folder;
  const std::string name = folder.path("list");
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      find_corpus_files(read_list(folder, text), {}, default_resources());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string there = folder.write("there", "x");
  for (const char* empty : {"", "\r\n \n", "# nothing\n"})
    CHECK(complaint(empty) == name + ": the list names no file; write a path on each line");
  CHECK_THAT(complaint(there + "\n\n" + folder.path("missing") + "\n"),
             Catch::Matchers::StartsWith(name + ", line 3: can't find " + folder.path("missing")));
  CHECK_THAT(complaint("-\n"), Catch::Matchers::StartsWith(name + ", line 1: a list names files"));
  CHECK_THAT(complaint("https://data.example/1.warc.gz\n"),
             Catch::Contains("line 1: 'https://") && Catch::Contains("fetch the file"));
  CHECK_THAT(complaint(std::string("a\0b\n", 4)), Catch::Contains("line 1: the line contains a zero byte"));
  CHECK_THAT(complaint(there + "\n" + std::string(70000, 'a') + "\n"), Catch::Contains("line 2: the line is too long"));
  std::filesystem::create_directory(folder.path("empty"));
  CHECK_THAT(complaint(folder.path("empty")), Catch::Matchers::StartsWith(name + ", line 1: " + folder.path("empty")));
  CHECK_THROWS_AS(FileList(folder.path("nowhere"), "", default_resources()), IoError);
}

TEST_CASE("A file list determines the order of files, and names that of files in folders", "[corpus]") {
  const TemporaryFolder folder;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string((i * 37) % 200);
    folder.write(name, name);
    text += name + "\n";
    expected.push_back(folder.path(name));
  }
  folder.write("z/b", "x");
  folder.write("z/a", "x");
  text += "z\n0\n";
  expected.insert(expected.end(), {folder.path("z/a"), folder.path("z/b"), folder.path("0")});
  const CorpusFiles files = find_corpus_files(read_list(folder, text, folder.path("")), {}, default_resources());
  REQUIRE(files.size() == expected.size());
  for (std::uint32_t number = 0; number < files.size(); ++number) CHECK(files.file(number).path == expected[number]);
}
