#include "quern/core/bytes.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/zstd_frame.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// The worked example of the index's page: its corpus must give its bytes.
namespace quern {
namespace {

using namespace testing;

/// The corpus described on the page.
std::string example_corpus() {
  std::string corpus;
  for (int i = 0; i < 70; ++i) {
    corpus += "{\"id\":\"D" + std::to_string(10 + i) + "\",\"contents\":\"";
    for (int times = 0; times <= i % 3; ++times) corpus += "mill ";
    corpus += i % 35 == 0 ? "wheel\"" : "\"";
    corpus += i == 0 ? ",\"title\":\"The Mill\",\"url\":\"http://a.example/\"}\n" : "}\n";
  }
  return corpus;
}

std::map<std::string, std::string> index_bytes(const ContainerReader& container) {
  std::map<std::string, std::string> rows;
  for (const char* name : {"lexicon", "lexicon_blocks", "block_last", "block_offset", "block_max", "docno_offsets"})
    rows[name] = hex_text(container.view(name));
  for (const char* name : {"docnos", "lengths", "docno_lookup"})
    rows[std::string(name) + ", its first 16 bytes"] = hex_text(container.view(name).first(16));
  const auto end = load_le<std::uint64_t>(container.view("text_offsets").data() + 8);
  ByteReader text(container.view("texts").first(end), "example");
  const std::uint64_t size = text.varint();
  ZstdDecompressor zstd;
  Bytes raw;
  zstd.decompress(text.take(text.left()), size, raw, "example");
  rows["texts, block 0, its first 32 bytes"] = hex_text(ByteView(raw).first(32));
  return rows;
}

IndexReader example_index(unsigned quantize_bits) {
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(example_corpus()));
  BuildOptions options;
  options.codec_options.block_size = 64;
  options.quantize_bits = quantize_bits;
  return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
}

void check_page(const std::string& block, const std::map<std::string, std::string>& made) {
  auto shown = page_bytes("index.md", block);
  CHECK(shown.size() == made.size());
  for (const auto& [name, bytes] : made) {
    INFO(name);
    CHECK(shown[name] == bytes);
  }
}

}  // namespace

TEST_CASE("the worked example of the index's page holds", "[index][format]") {
  check_page("bytes", index_bytes(example_index(0).container()));
}

TEST_CASE("the worked example of quantized impacts holds", "[index][format][quantized]") {
  const IndexReader index = example_index(16);
  const ContainerReader& container = index.container();
  std::map<std::string, std::string> rows;
  for (const char* name : {"impact_start", "impact_width"}) rows[name] = hex_text(container.view(name));
  rows["impacts, its first 16 bytes"] = hex_text(container.view("impacts").first(16));
  rows["lexicon, its first 16 bytes"] = hex_text(container.view("lexicon").first(16));
  check_page("impact bytes", rows);
}

TEST_CASE("the worked example of given impacts holds", "[index][format][impacts]") {
  std::vector<WeightedDocument> documents(70);
  for (std::uint32_t i = 0; i < 70; ++i) {
    documents[i]["mill"] = 3 * i + 1;
    if (i % 35 == 0) documents[i]["wheel"] = 200;
  }
  Pipeline pipeline;
  const CollectionReader collection(parse_weights(pipeline, as_vector_jsonl(documents), {8}));
  BuildOptions options;
  options.codec_options.block_size = 64;
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
  const ContainerReader& container = index.container();
  std::map<std::string, std::string> rows;
  for (const char* name : {"lexicon", "block_max", "impact_start", "impact_width"})
    rows[name] = hex_text(container.view(name));
  for (const char* name : {"impacts", "lengths"})
    rows[std::string(name) + ", its first 16 bytes"] = hex_text(container.view(name).first(16));
  check_page("given bytes", rows);
}

}  // namespace quern
