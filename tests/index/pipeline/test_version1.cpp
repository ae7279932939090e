#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

/// Files of version 1, written by Quern 0.1 at commit 97efe8e from tests/formats/version1/corpus.trecweb: the
/// collection, and indexes of it with `--quantize 16` and with `--codec rpfd --recursion 2`.
namespace quern {
namespace {

using namespace testing;

std::string version1(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/formats/version1/" + name;
}

/// All sections but the manifest; the texts, whose frames differ with the version of zstd; and those that are coded
/// otherwise in version 4.
Sections settled_sections(const IndexReader& index) {
  constexpr std::array<std::string_view, 6> others = {"manifest",       "texts",    "lexicon",
                                                      "lexicon_blocks", "postings", "block_offset"};
  Sections sections = sections_of(index.container());
  std::erase_if(sections, [&](const auto& section) { return std::ranges::count(others, section.first) > 0; });
  return sections;
}

std::string manifest_of(const StageFile& index) { return Pipeline::open_index(index).container().manifest(); }

bool has_key(const std::string& manifest, const std::string& key) {
  return manifest.find("\"" + key + "\":") != std::string::npos;
}

}  // namespace

TEST_CASE("Indexes of version 1 are read, and built again with the same contents", "[format][index]") {
  Pipeline pipeline;
  const CollectionReader collection(CollectionReader::open(version1("collection.quern")));
  collection.container().verify(pipeline.resources);
  collection.verify_contents(pipeline.resources);
  CHECK(collection.manifest().documents == 2);
  CHECK(collection.manifest().libraries.unicode.empty());

  BuildOptions quantized, recursive;
  quantized.quantize_bits = 16;
  recursive.codec = "rpfd";
  recursive.codec_options.recursion = 2;
  for (const auto& [name, options] : {std::pair("newpfd.quern", quantized), std::pair("rpfd.quern", recursive)}) {
    INFO(name);
    const IndexReader old = IndexReader::open(version1(name));
    old.container().verify(pipeline.resources);
    verify_index(old, pipeline.resources);
    CHECK(has_key(old.container().manifest(), "ascii"));
    CHECK(has_key(old.container().manifest(), "recursion"));
    CHECK(old.manifest().codec_options.block_size == options.codec_options.block_size);
    if (options.codec == "rpfd") CHECK(old.manifest().codec_options.recursion == options.codec_options.recursion);
    CHECK(old.manifest().codec_options.old_newpfd == (options.codec == "newpfd"));
    // When these files were made, every order of pages with links had PageRank.
    const DocumentOrder order = make_order(collection, {}, {PagerankFrom::links, {}}, pipeline.resources);
    const StageFile built = pipeline.build(collection, order, options);
    CHECK(settled_sections(Pipeline::open_index(built)) == settled_sections(old));
  }
}

TEST_CASE("A manifest has the recursion of rpfd alone, and the libraries that made its terms", "[format][index]") {
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(R"({"docno":"D1","text":"a mill"})"));
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name());
    BuildOptions options;
    options.codec = codec->name();
    const std::string manifest = manifest_of(pipeline.build(collection, pipeline.order(collection), options));
    CHECK(has_key(manifest, "recursion") == (codec->name() == "rpfd"));
    CHECK(has_key(manifest, "libraries"));
    CHECK_FALSE(has_key(manifest, "ascii"));
  }
}

}  // namespace quern
