#include <zdict.h>

#include <random>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using namespace quern::testing;

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

TEST_CASE("A source gives the content of plain and compressed files for reads of any size", "[corpus][reports]") {
  for (const std::string& text : {long_text(), std::string("some text")}) {
    const std::string packed[] = {text,
                                  gzipped(text),
                                  zstd_packed(text),
                                  bzip2_packed(text),
                                  xz_packed(text),
                                  lzw_packed(text),
                                  lzw_packed(text, 12),
                                  lzw_packed(text, 10)};
    for (const std::string& stored : packed)
      for (const std::size_t step : {text.size() < 100 ? std::size_t{1} : std::size_t{977}, std::size_t{1} << 20}) {
        const bool is_same = content(stored, step) == text;
        CHECK(is_same);
      }
  }
}

TEST_CASE("Several members, streams or frames are one text, including empty ones", "[corpus][reports]") {
  for (const auto pack : {gzipped, zstd_packed, bzip2_packed, +[](std::string_view text) { return xz_packed(text); }}) {
    CHECK(content(pack("one ") + pack("") + pack("two")) == "one two");
    CHECK(content(pack("")).empty());
  }
  CHECK(content(lzw_packed("")).empty());
  CHECK(content("").empty());
}

TEST_CASE("Zero bytes after a gzip, bzip2 or xz file are padding, anything else is an error", "[corpus]") {
  for (const auto pack : {gzipped, bzip2_packed, +[](std::string_view text) { return xz_packed(text); }}) {
    CHECK(content(pack("text") + std::string(1000, '\0')) == "text");
    CHECK(content(pack("text") + std::string(4, '\0') + pack(" two")) == "text two");
    CHECK(complaint(pack("text") + "more").find("test.file") == 0);
    CHECK(complaint(pack("text") + std::string(8, '\0') + "more").find("extra data follows the compressed data") !=
          std::string::npos);
  }
  CHECK_FALSE(complaint(zstd_packed("text") + "garbage").empty());
}

TEST_CASE("The output of compress(1) is read, and refused where it has invalid codes", "[corpus][reports]") {
  const std::string stored(
      "\x1f\x9d\x90\x74\xde\x80\x10\x53\x06\xc4\x1b\x39\x20\xdc\xbc\xa1\x03\x22\xe0\xc0\x82\x07\x1b\x0a\x24\x68\x10\xa1"
      "\x42"
      "\x3a",
      30);
  CHECK(content(stored) == "to be or not to be or to be or not");
  const std::string prefix("\x1f\x9d\x90", 3);
  CHECK(content(prefix).empty());
  CHECK(complaint(prefix + "\xff\xff").find("test.file: damaged compress (.Z) data") == 0);
  CHECK(complaint(prefix + std::string("\x61\x04\x03", 3)).find("an invalid code") != std::string::npos);
  CHECK_THROWS_WITH(content(std::string("\x1f\x9d\x89\x00", 4)), Catch::Contains("9 bits only"));
  CHECK(content(std::string("\x1f\x9d\x08\x00", 4)).size() == 4);  // not LZW: codes have 9 bits or more
}

TEST_CASE("An xz dictionary that is larger than the memory is refused, with the remedy", "[corpus]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("large.xz", xz_packed("text", 9));
  std::uint8_t byte = 0;
  CHECK(ByteSource::open(path)->read({&byte, 1}) == 1);
  try {
    ByteSource::open(path, nullptr, 16 << 20)->read({&byte, 1});
    FAIL("a large dictionary was accepted");
  } catch (const InvalidArgument& error) {
    CHECK(std::string(error.what()).find(path + ": its xz data needs 64.1M of memory") == 0);
    CHECK(std::string(error.what()).find(option_name<"memory">) != std::string::npos);
  }
}

TEST_CASE("An archive, another compression and a second one are named with a remedy", "[corpus][reports]") {
  const TemporaryFolder folder;
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  const std::pair<std::string, std::string> forms[] = {
      {"PK\x03\x04 rest", "unzip"},
      {tar, "tar -xf"},
      {"\x04\x22\x4d\x18 rest", "lz4 -d"},
      {"7z\xbc\xaf\x27\x1c", "7z x"},
      {"PAR1\x15", "JSON lines"},
      {gzipped("text"), "twice"},
      {std::string("]\0\0\x80\0", 5) + std::string(8, '\xff') + "x", "unlzma"},
  };
  for (const auto& [head, remedy] : forms) {
    CHECK(unreadable_form(as_bytes(head)).find(remedy) != std::string::npos);
    for (const std::string& stored : {gzipped(head), xz_packed(head)}) {
      std::uint8_t byte = 0;
      const std::string path = folder.write("file", stored);
      CHECK_THROWS_AS(ByteSource::open(path)->read({&byte, 1}), InvalidArgument);
    }
  }
  for (const std::string_view text : {"a text", "PAR1 mill", "FEA1\tmill", "ARROW1"})
    CHECK(unreadable_form(as_bytes(text)).empty());
}

TEST_CASE("A truncated compressed file is an error with name and offset", "[corpus]") {
  const std::string text = "a text that is cut";
  for (const std::string& whole : {gzipped(text), zstd_packed(text), bzip2_packed(text), xz_packed(text)}) {
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

TEST_CASE("A zstd dictionary in a skippable frame serves the frames after it", "[corpus][reports]") {
  std::string samples;
  std::vector<std::size_t> sizes;
  std::vector<std::string> records;
  for (int i = 0; i < 400; ++i) {
    records.push_back("WARC/1.0\r\nWARC-Type: response\r\nnumber " + std::to_string(i * 7919) + " of many\r\n\r\n");
    samples += records.back();
    sizes.push_back(records.back().size());
  }
  std::string dictionary(4096, '\0');
  dictionary.resize(ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), sizes.data(),
                                          static_cast<unsigned>(sizes.size())));
  const auto skippable = [](std::string_view frame_content, char magic = '\x5d') {
    std::string frame{magic, '\x2a', '\x4d', '\x18'};
    for (int byte = 0; byte < 4; ++byte) frame += static_cast<char>(frame_content.size() >> (8 * byte));
    return frame + std::string(frame_content);
  };
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  std::string frames, text;
  for (int i = 0; i < 40; ++i) {
    std::string frame(1000, '\0');
    frame.resize(ZSTD_compress_usingDict(context.get(), frame.data(), frame.size(), records[i].data(),
                                         records[i].size(), dictionary.data(), dictionary.size(), 3));
    frames += frame;
    text += records[i];
  }
  CHECK(content(skippable(dictionary) + frames) == text);
  CHECK(content(skippable(zstd_packed(dictionary)) + frames, 7) == text);
  CHECK(content(skippable(dictionary) + frames + skippable(dictionary) + frames) == text + text);
  CHECK(content(skippable(dictionary) + frames + skippable("other", '\x50') + skippable("") + zstd_packed("end")) ==
        text + "end");
  for (const std::string& damaged :
       {frames, skippable("no dictionary") + frames, skippable(std::string(1000, 'x')) + frames,
        skippable(zstd_packed(dictionary).substr(0, 50)) + frames})
    CHECK_THROWS_WITH(content(damaged), Catch::Contains("needs a dictionary") && Catch::Contains("zstd -d -D"));
  const std::string whole = skippable(dictionary) + frames;
  CHECK(complaint(whole.substr(0, 100)).find("ends too early") != std::string::npos);
  CHECK(complaint(whole.substr(0, 7)).find("ends too early") != std::string::npos);
  CHECK_FALSE(complaint(skippable(dictionary.substr(0, 100)) + frames).empty());
}

TEST_CASE("A wrong byte in a bzip2 or xz file is an error", "[corpus]") {
  for (std::string stored : {bzip2_packed(long_text()), xz_packed(long_text())}) {
    stored[stored.size() / 2] ^= 1;
    CHECK(complaint(stored).find("invalid data or a wrong checksum") != std::string::npos);
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
