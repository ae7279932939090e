#include "quern/core/bytes.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/zstd_frame.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// The worked example of the collection's page: its corpus must give its bytes. Parsed according to the page, without
/// the reader.
namespace quern {
namespace {

using namespace testing;

Bytes decompressed(ByteView frame, std::uint64_t size) {
  ZstdDecompressor zstd;
  Bytes raw;
  zstd.decompress(frame, size, raw, "example");
  return raw;
}

std::map<std::string, std::string> collection_bytes(const ContainerReader& container) {
  std::map<std::string, std::string> rows;
  for (const char* name : {"lengths", "lexicon", "lexicon_blocks"}) rows[name] = hex_text(container.view(name));
  const ByteView row = container.view("chunks"), data = container.view("chunk_data");
  rows["chunks, to the offset"] = hex_text(row.first(16));
  rows["chunks, the sizes before compression"] = hex_text(row.subspan(28, 12));
  std::uint64_t offset = load_le<std::uint64_t>(row.data() + 8);
  const char* pieces[] = {"documents", "forward", "links"};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto size = load_le<std::uint32_t>(row.data() + 16 + i * 4),
               raw = load_le<std::uint32_t>(row.data() + 28 + i * 4);
    rows[pieces[i]] = hex_text(decompressed(data.subspan(offset, size), raw));
    offset += size;
  }
  const auto terms_offset = load_le<std::uint64_t>(row.data() + 40);
  const auto terms_size = load_le<std::uint32_t>(row.data() + 48), terms = load_le<std::uint32_t>(row.data() + 4);
  rows["terms"] = hex_text(decompressed(container.view("chunk_terms").subspan(terms_offset, terms_size), terms * 4));
  CHECK(row.size() == 56);
  CHECK(offset == data.size());
  return rows;
}

}  // namespace

TEST_CASE("the worked example of the collection's page holds", "[collection][format]") {
  const std::string corpus = page_block("collection.md", "corpus");
  REQUIRE(!corpus.empty());
  const Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(corpus));
  const auto made = collection_bytes(collection.container());
  auto shown = page_bytes("collection.md", "bytes");
  CHECK(shown.size() == made.size());
  for (const auto& [name, bytes] : made) {
    INFO(name);
    CHECK(shown[name] == bytes);
  }
}

TEST_CASE("the worked example of a collection with given weights holds", "[collection][format][impacts]") {
  const Pipeline pipeline;
  const CollectionReader collection(parse_weights(pipeline, page_block("collection.md", "weights corpus"), {16}));
  const auto made = collection_bytes(collection.container());
  auto shown = page_bytes("collection.md", "weights bytes");
  CHECK(shown.size() == 3);
  for (const char* name : {"forward", "lengths", "lexicon"}) CHECK(shown[name] == made.at(name));
}

TEST_CASE("the worked example of a collection with texts holds", "[collection][format][texts]") {
  Pipeline pipeline;
  pipeline.store_text = true;
  const CollectionReader collection(pipeline.parse(page_block("collection.md", "corpus")));
  const ByteView row = collection.container().view("chunks"), text_row = collection.container().view("text_rows");
  REQUIRE(text_row.size() == 8);
  std::uint64_t offset = load_le<std::uint64_t>(row.data() + 8);
  for (std::size_t piece = 0; piece < 3; ++piece) offset += load_le<std::uint32_t>(row.data() + 16 + piece * 4);
  const ByteView frame = collection.container().view("chunk_data").subspan(offset);
  CHECK(frame.size() == load_le<std::uint32_t>(text_row.data()));
  auto shown = page_bytes("collection.md", "texts");
  CHECK(shown.size() == 2);
  CHECK(hex_text(text_row.subspan(4)) == shown["text_rows, the size before compression"]);
  CHECK(hex_text(decompressed(frame, load_le<std::uint32_t>(text_row.data() + 4))) == shown["texts"]);
}

TEST_CASE("the worked example of the fields' page holds", "[format][filter]") {
  Pipeline pipeline;
  pipeline.kept_fields = {"lang", "year", "open"};
  const CollectionReader collection(pipeline.parse(page_block("fields.md", "corpus")));
  const DocumentOrder order = pipeline.order(collection);
  pipeline.build(collection, order, {});
  const ContainerReader fields(pipeline.fields(collection, order), FileKind::fields);
  const ByteView offsets = fields.view("field_offsets"), sizes = fields.view("field_sizes");
  auto shown = page_bytes("fields.md", "bytes");
  CHECK(shown.size() == 4);
  CHECK(hex_text(sizes) == shown["field_sizes"]);
  REQUIRE(offsets.size() == 32);
  CHECK(load_le<std::uint64_t>(offsets.data() + 24) == fields.view("fields").size());
  const char* const names[] = {"frame 0, lang", "frame 1, year", "frame 2, open"};
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(names[i]);
    const auto from = load_le<std::uint64_t>(offsets.data() + i * 8),
               to = load_le<std::uint64_t>(offsets.data() + i * 8 + 8);
    const auto size = load_le<std::uint32_t>(sizes.data() + i * 4);
    CHECK(hex_text(decompressed(fields.view("fields").subspan(from, to - from), size)) == shown[names[i]]);
  }
}

TEST_CASE("the worked example of the texts' page holds", "[format][texts]") {
  Pipeline pipeline;
  pipeline.store_text = true;
  const CollectionReader collection(pipeline.parse(page_block("texts.md", "corpus")));
  const DocumentOrder order = pipeline.order(collection);
  pipeline.build(collection, order, {});
  const ContainerReader texts(pipeline.texts(collection, order), FileKind::texts);
  const ByteView rows = texts.view("text_frames"), frames = texts.view("texts");
  REQUIRE(rows.size() == 32);
  auto shown = page_bytes("texts.md", "bytes");
  CHECK(shown.size() == 3);
  CHECK(hex_text(rows.first(16)) == shown["first row"]);
  CHECK(hex_text(rows.subspan(24)) == shown["last row, from the docID"]);
  CHECK(load_le<std::uint64_t>(rows.data() + 16) == frames.size());
  CHECK(hex_text(decompressed(frames, load_le<std::uint32_t>(rows.data() + 12))) == shown["frame"]);
}

}  // namespace quern
