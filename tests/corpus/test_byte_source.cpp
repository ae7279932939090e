#include <random>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using quern::testing::gzipped;
using quern::testing::TemporaryFolder;
using quern::testing::zstd_packed;

namespace {

/// All bytes of a source, read in steps of `step` bytes.
std::string content(std::string stored, std::size_t step = 1000) {
  const std::unique_ptr<ByteSource> source = ByteSource::from_memory("test.file", std::move(stored));
  std::string text;
  std::string piece(step, '\0');
  for (;;) {
    const std::size_t got = source->read({reinterpret_cast<std::uint8_t*>(piece.data()), step});
    if (got == 0) return text;
    text.append(piece, 0, got);
  }
}

/// The source's error for a damaged file; empty if there is none.
std::string complaint(const std::string& stored) {
  try {
    content(stored);
  } catch (const CorruptFile& error) {
    return error.what();
  }
  return {};
}

/// Text that compresses badly, as large as several buffers.
std::string long_text() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 700000) text += "word" + std::to_string(random() % 5000) + ' ';
  return text;
}

}  // namespace

TEST_CASE("A small file is read into memory, a large one into an unnamed temporary file, with any compression",
          "[corpus]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("tmp"));
  Resources resources = default_resources();
  resources.tmp_folder = folder.path("tmp");
  const std::string text = long_text();
  constexpr std::uint64_t max_bytes = 1 << 30;
  for (const std::string& stored : {text, gzipped(text), zstd_packed(text), gzipped("")}) {
    for (const std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{4} << 20}) {
      resources.memory_bytes = memory;
      const WholeFile whole(folder.write("log", stored), max_bytes, resources);
      CHECK(as_text(whole.bytes()) == (stored == gzipped("") ? "" : text));
      whole.release(whole.bytes());
      CHECK(as_text(whole.bytes()) == (stored == gzipped("") ? "" : text));
      CHECK(std::filesystem::is_empty(folder.path("tmp")));
    }
  }
  const std::string packed = gzipped(text);
  CHECK_THROWS_AS(WholeFile(folder.write("cut", packed.substr(0, packed.size() / 2)), max_bytes, resources),
                  CorruptFile);
  CHECK_THROWS_AS(WholeFile(folder.path("nowhere"), max_bytes, resources), IoError);
  resources.tmp_folder = folder.path("no_folder");
  folder.write("log", text);
  CHECK_THROWS_AS(WholeFile(folder.path("log"), max_bytes, resources), IoError);
  resources.memory_bytes = std::uint64_t{1} << 30;
  CHECK(as_text(WholeFile(folder.path("log"), max_bytes, resources).bytes()) == text);
}

TEST_CASE("Limits of files that are read whole are checked while they are read", "[corpus][reports]") {
  const TemporaryFolder folder;
  Resources resources = default_resources();
  resources.tmp_folder = folder.path("");
  constexpr std::uint64_t large = std::uint64_t{1} << 40;
  CHECK_THROWS_WITH(WholeFile("/dev/zero", 1 << 20, resources), Catch::Contains("/dev/zero: is larger than 1M"));
  CHECK_THROWS_WITH(WholeFile("/dev/zero", {large, 1 << 20}, resources), Catch::Contains("a line of more than 1M"));
  CHECK_THROWS_WITH(read_whole("/dev/zero", 1 << 20), Catch::Contains("is larger than 1M"));
  CHECK_THROWS_WITH(read_whole("/dev/zero", {large, 1 << 20}), Catch::Contains("a line of more than 1M"));
  CHECK_THROWS_WITH(
      read_whole("/dev/zero", large, [](std::string_view head) { throw InvalidArgument("{} bytes", head.size()); }),
      "65536 bytes");
  // Lines count from the last end of a line, across steps of reading.
  const std::string lines = std::string(90000, 'x') + '\n' + std::string(90000, 'y');
  CHECK(read_whole(folder.write("lines", lines), {large, 100000}) == lines);
  CHECK_THROWS_WITH(read_whole(folder.path("lines"), {large, 80000}), Catch::Contains("a line of more than"));
}

TEST_CASE("A source gives the content of plain, gzip and zstd files for reads of any size", "[corpus]") {
  const std::string text = long_text();
  for (const std::size_t step : {std::size_t{977}, std::size_t{1} << 20}) {
    CHECK(content(text, step) == text);
    CHECK(content(gzipped(text), step) == text);
    CHECK(content(zstd_packed(text), step) == text);
  }
  CHECK(content("some text", 1) == "some text");
  CHECK(content(gzipped("some text"), 1) == "some text");
  CHECK(content(zstd_packed("some text"), 1) == "some text");
}

TEST_CASE("Several gzip members or zstd frames are one text, including empty ones", "[corpus]") {
  CHECK(content(gzipped("one ") + gzipped("") + gzipped("two")) == "one two");
  CHECK(content(zstd_packed("one ") + zstd_packed("") + zstd_packed("two")) == "one two");
  CHECK(content(gzipped("")).empty());
  CHECK(content("").empty());
}

TEST_CASE("Zero bytes after a gzip file are padding, anything else is an error", "[corpus]") {
  CHECK(content(gzipped("text") + std::string(1000, '\0')) == "text");
  CHECK(complaint(gzipped("text") + "more").find("test.file") == 0);
  CHECK(complaint(gzipped("text") + std::string(8, '\0') + "more").find("extra data follows the compressed data") !=
        std::string::npos);
  CHECK_FALSE(complaint(zstd_packed("text") + "garbage").empty());
}

TEST_CASE("A truncated compressed file is an error with name and offset", "[corpus]") {
  for (const std::string& whole : {gzipped("a text that is cut"), zstd_packed("a text that is cut")}) {
    for (std::size_t size = 4; size < whole.size(); ++size) {
      const std::string message = complaint(whole.substr(0, size));
      INFO(size << " of " << whole.size());
      CHECK(message.find("test.file") == 0);
      CHECK(message.find("ends too early, at byte " + std::to_string(size)) != std::string::npos);
    }
  }
}

TEST_CASE("A zstd frame whose window is larger than allowed is refused, with the remedy", "[corpus]") {
  // The magic number, no size and no checksum, and a window of 2^25 bytes; then an empty last block.
  const std::string frame("\x28\xb5\x2f\xfd\x00\x78\x01\x00\x00", 9);
  const TemporaryFolder folder;
  const std::string path = folder.write("large.zst", frame);
  std::uint8_t byte = 0;
  CHECK(ByteSource::open(path)->read({&byte, 1}) == 0);
  CHECK(ByteSource::open(path, nullptr, 1 << 25)->read({&byte, 1}) == 0);
  try {
    ByteSource::open(path, nullptr, (1 << 25) - 1)->read({&byte, 1});
    FAIL("a large window was accepted");
  } catch (const InvalidArgument& error) {
    CHECK(std::string(error.what()).find(path + ": its zstd data needs a window of more than 16M") == 0);
    CHECK(std::string(error.what()).find(option_name<"memory">) != std::string::npos);
  }
}

TEST_CASE("A wrong byte in compressed data or its checksum is an error", "[corpus]") {
  std::string stored = gzipped(long_text());
  SECTION("in the checksum") { stored[stored.size() - 6] ^= 1; }
  SECTION("in the data") { stored[stored.size() / 2] ^= 1; }
  const std::string message = complaint(stored);
  CHECK(message.find("test.file: damaged gzip data at byte ") == 0);
}

TEST_CASE("Files are opened by their contents, not by their names", "[corpus]") {
  const TemporaryFolder folder;
  CHECK(read_whole(folder.write("plain.gz", "not packed"), 100) == "not packed");
  CHECK(read_whole(folder.write("packed.txt", gzipped("packed")), 100) == "packed");
  CHECK(read_whole(folder.write("empty.zst", ""), 100).empty());
}

TEST_CASE("A small file is read whole, up to a limit", "[corpus]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("queries", gzipped(std::string(200000, 'q')));
  CHECK(read_whole(path, 200000) == std::string(200000, 'q'));
  CHECK_THROWS_AS(read_whole(path, 199999), InvalidArgument);
  CHECK_THROWS_AS(read_whole(folder.path("missing"), 10), IoError);
  CHECK_THROWS_AS(read_whole(folder.path(""), 10), InvalidArgument);
}

TEST_CASE("A source counts the stored bytes that it read", "[corpus]") {
  const std::string stored = gzipped(long_text());
  const TemporaryFolder folder;
  const std::unique_ptr<ByteSource> source = ByteSource::open(folder.write("text.gz", stored));
  std::string piece(1 << 16, '\0');
  const std::span<std::uint8_t> room(reinterpret_cast<std::uint8_t*>(piece.data()), piece.size());
  CHECK(source->read(room) > 0);
  CHECK(source->compressed_bytes_read() < stored.size());
  while (source->read(room) > 0) {
  }
  CHECK(source->compressed_bytes_read() == stored.size());
}
