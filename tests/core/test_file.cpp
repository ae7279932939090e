#include <filesystem>
#include <optional>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/io/file.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

Bytes content(const File& file) {
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("Reading past a file's end is an error with name and position", "[core]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("five", "12345");
  const File file = File::open_for_reading(path);
  CHECK(file.size() == 5);
  Bytes bytes(4);
  file.read_at(1, bytes);
  CHECK(as_text(bytes) == "2345");
  try {
    file.read_at(2, bytes);
    FAIL("no error");
  } catch (const CorruptFile& error) {
    CHECK(error.what() == path + ": ends too early, at byte 5");
  }
  CHECK(file.read_some(3, bytes) == 2);
  CHECK(file.read_some(5, bytes) == 0);
  CHECK(file.read_some(1000, bytes) == 0);
}

TEST_CASE("Missing files, folders and existing files are refused", "[core]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("there", "x");
  CHECK_THROWS_AS(File::open_for_reading(folder.path("missing")), IoError);
  CHECK_THROWS_AS(File::open_for_reading(folder.path("")), InvalidArgument);
  CHECK_THROWS_AS(File::create(path), IoError);
  CHECK_THROWS_AS(File::create(folder.path("missing/file")), IoError);
  CHECK_THROWS_AS(File::anonymous(folder.path("missing")), IoError);
}

TEST_CASE("A temporary file has no name in its folder", "[core]") {
  const TemporaryFolder folder;
  File file = File::anonymous(folder.path(""));
  file.write_at(3, as_bytes("abc"));
  CHECK(content(file) == Bytes{0, 0, 0, 'a', 'b', 'c'});
  CHECK(std::filesystem::is_empty(folder.path("")));
}

TEST_CASE("A duplicate outlives the original", "[core]") {
  const TemporaryFolder folder;
  std::optional<File> file = File::anonymous(folder.path(""));
  file->write_at(0, as_bytes("abc"));
  const File other = file->duplicate();
  file.reset();
  CHECK(content(other) == Bytes{'a', 'b', 'c'});
}

TEST_CASE("Appending in pieces of any size gives the same bytes", "[core][property]") {
  const TemporaryFolder folder;
  RandomBits random(7);
  for (const std::size_t buffer_bytes : {1, 2, 7, 64, 100000}) {
    File file = File::anonymous(folder.path(""));
    Bytes wanted(10, 0);
    FileAppender out(file, wanted.size(), buffer_bytes);
    for (int i = 0; i < 200; ++i) {
      Bytes piece(random.below(100));
      for (std::uint8_t& byte : piece) byte = static_cast<std::uint8_t>(random.next());
      out.write(piece);
      wanted.insert(wanted.end(), piece.begin(), piece.end());
      REQUIRE(out.position() == wanted.size());
    }
    out.flush();
    CHECK(content(file) == wanted);
  }
}

TEST_CASE("A mapped file shows the file's bytes, also when moved and when empty", "[core]") {
  const TemporaryFolder folder;
  const File file = File::open_for_reading(folder.write("some", "some bytes"));
  MappedFile mapped(file);
  CHECK(as_text(mapped.bytes()) == "some bytes");
  MappedFile moved;
  moved = std::move(mapped);
  CHECK(as_text(moved.bytes()) == "some bytes");
  CHECK(MappedFile(File::open_for_reading(folder.write("none", ""))).bytes().empty());
}

TEST_CASE("Too little free space is an error with both sizes", "[core]") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(check_free_space(folder.path(""), 1, "nothing"));
  CHECK_THROWS_AS(check_free_space(folder.path(""), UINT64_MAX, "everything"), IoError);
  CHECK_THROWS_AS(free_space_bytes(folder.path("missing")), IoError);
}
