#include "quern/core/random.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/utf8.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"

/// Text files, without their index.
namespace quern {
namespace {

using namespace testing;

using Texts = std::vector<std::string>;

/// Letters of one to four bytes.
std::string letters(RandomBits& random, std::size_t bytes) {
  static const std::string_view all[] = {"a", "b ", "\n", "\u00e4", "\u20ac", "\U0001F33E"};
  std::string text;
  while (text.size() < bytes) text += all[random.below(std::size(all))];
  while (text.size() > bytes || !is_valid_utf8(text)) text.pop_back();
  return text + std::string(bytes - text.size(), 'x');
}

/// Writes texts in pieces of at most `max_piece` bytes; 0: random sizes.
File write_texts(const TemporaryFolder& folder, const Texts& texts, std::size_t max_piece) {
  RandomBits random(5);
  File file = File::anonymous(folder.path(""));
  TextsWriter writer(file, folder.path(""));
  for (const std::string& text : texts) {
    for (std::string_view left = text; !left.empty();) {
      const std::size_t size = max_piece > 0 ? max_piece : 1 + random.below(1 + random.below(90'000));
      writer.add(left.substr(0, size));
      left.remove_prefix(std::min(size, left.size()));
    }
    writer.end_document();
  }
  writer.finish("0123456789abcdef");
  return file;
}

TextsReader reader_of(File file) { return TextsReader(ContainerReader(shared(std::move(file)), FileKind::texts)); }

std::string joined_text(const TextsReader& texts, docid_t docid, TextBuffers& buffers) {
  std::string text;
  texts.read(docid, buffers, [&](std::string_view piece) {
    CHECK(piece.size() <= text_frame_bytes);
    CHECK(is_valid_utf8(piece));
    text += piece;
  });
  return text;
}

Texts texts_around_a_frame(RandomBits& random) {
  Texts texts;
  for (const std::size_t size :
       {0u, 1u, 2u, 65'533u, 65'534u, 65'535u, 65'536u, 65'537u, 65'538u, 131'072u, 131'073u, 400'000u})
    texts.push_back(letters(random, size));
  for (int i = 0; i < 300; ++i) texts.push_back(letters(random, random.below(1 + random.below(3000))));
  for (std::size_t i = texts.size(); i > 1; --i) std::swap(texts[i - 1], texts[random.below(i)]);
  return texts;
}

}  // namespace

TEST_CASE("Texts of any sizes are read as they were written, each by itself", "[format][property]") {
  const TemporaryFolder folder;
  RandomBits random(3);
  for (int turn = 0; turn < 4; ++turn) {
    const Texts texts = texts_around_a_frame(random);
    const TextsReader reader = reader_of(write_texts(folder, texts, 0));
    REQUIRE(reader.num_documents() == texts.size());
    std::uint64_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    CHECK(reader.manifest().text_bytes == bytes);
    CHECK(reader.manifest().index_hash == "0123456789abcdef");
    CHECK_NOTHROW(reader.container().verify(default_resources()));
    CHECK_NOTHROW(reader.verify_contents(default_resources()));
    TextBuffers buffers;
    for (docid_t docid = 0; docid < texts.size(); ++docid) REQUIRE(joined_text(reader, docid, buffers) == texts[docid]);
    for (int i = 0; i < 300; ++i) {
      const auto docid = static_cast<docid_t>(random.below(texts.size()));
      REQUIRE(joined_text(reader, docid, buffers) == texts[docid]);
      REQUIRE(reader.text(docid) == texts[docid]);
    }
    CHECK_THROWS_AS(reader.text(reader.num_documents()), InvalidArgument);
  }
}

TEST_CASE("The file does not depend on where the pieces of a text end", "[format][property]") {
  const TemporaryFolder folder;
  RandomBits random(4);
  Texts texts = texts_around_a_frame(random);
  texts.push_back(std::string(200'000, '\x80'));  // not UTF-8
  const Bytes wanted = bytes_of(write_texts(folder, texts, 1 << 30));
  for (const std::size_t max_piece : {0u, 1000u, 65'536u, 65'537u})
    CHECK(bytes_of(write_texts(folder, texts, max_piece)) == wanted);
}

TEST_CASE("Small texts share a frame as long as they fit", "[format]") {
  const TemporaryFolder folder;
  const std::string third(20'000, 'a');  // three fit with their sizes
  const TextsReader reader = reader_of(write_texts(folder, Texts(7, third), 0));
  CHECK(reader.num_frames() == 3);
  const TextsReader full = reader_of(write_texts(folder, {std::string(65'536 - 3 - 2, 'a'), "b", ""}, 0));
  CHECK(full.num_frames() == 2);
  const TextsReader one = reader_of(write_texts(folder, {std::string(65'536 - 3 - 2, 'a'), "b"}, 0));
  CHECK(one.num_frames() == 1);
  CHECK(reader_of(write_texts(folder, {}, 0)).num_frames() == 0);
  CHECK_NOTHROW(reader_of(write_texts(folder, {}, 0)).verify_contents(default_resources()));
}

TEST_CASE("Every changed byte of a text file's rows and manifest is found, and reading stays in bounds",
          "[format][damage]") {
  const TemporaryFolder folder;
  RandomBits random(6);
  const Texts texts = {letters(random, 100),    letters(random, 150'000), "",
                       letters(random, 60'000), letters(random, 10'000),  letters(random, 70'000)};
  const Sections sound = sections_of(reader_of(write_texts(folder, texts, 0)).container());
  std::size_t found = 0, changed = 0;
  for (std::size_t section = 0; section < sound.size(); ++section) {
    if (sound[section].first != "text_frames") continue;
    for (std::size_t at = 0; at < sound[section].second.size(); ++at) {
      for (const std::uint8_t change : {0x01, 0x80}) {
        INFO(sound[section].first << ", byte " << at << " changed by " << int{change});
        Sections damaged = sound;
        damaged[section].second[at] ^= change;
        const TextsReader reader = reader_of(container_file(folder.path(""), FileKind::texts, damaged));
        ++changed;
        try {
          reader.verify_contents(default_resources());
        } catch (const CorruptFile&) {
          ++found;
        }
        for (docid_t docid = 0; docid < reader.num_documents(); ++docid) {
          try {
            reader.text(docid);
          } catch (const CorruptFile&) {
          }
        }
      }
    }
  }
  CHECK(changed > 200);
  CHECK(found == changed);
}

TEST_CASE("Missing rows and a wrong number of rows are refused", "[format][damage]") {
  const TemporaryFolder folder;
  Sections sections = sections_of(reader_of(write_texts(folder, {"a", "b"}, 0)).container());
  const auto refused = [&](std::size_t bytes) {
    Sections damaged = sections;
    for (auto& [name, content] : damaged)
      if (name == "text_frames") content.resize(bytes);
    CHECK_THROWS_AS(
        reader_of(container_file(folder.path(""), FileKind::texts, damaged)).verify_contents(default_resources()),
        CorruptFile);
  };
  for (const std::size_t bytes : {0u, 1u, 16u, 31u, 48u}) refused(bytes);
}

}  // namespace quern
