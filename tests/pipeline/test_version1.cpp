#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "pipeline/pipeline.hpp"

/// Files of version 1, written by Quern 0.1 at commit 97efe8e from tests/formats/version1/corpus.trecweb: the
/// collection, and indexes of it with `--quantize 16` and with `--codec rpfd --recursion 2`.
namespace quern {
namespace {

using namespace testing;

std::string version1(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/formats/version1/" + name;
}

/// All sections but the manifest, and but the texts, whose frames differ with the version of zstd.
Sections settled_sections(const IndexReader& index) {
  Sections sections = sections_of(index.container());
  std::erase_if(sections, [](const auto& section) { return section.first == "manifest" || section.first == "texts"; });
  return sections;
}

std::string manifest_of(const StageFile& index) { return Pipeline::open_index(index).container().manifest(); }

bool has_key(const std::string& manifest, const std::string& key) {
  return manifest.find("\"" + key + "\":") != std::string::npos;
}

}  // namespace

TEST_CASE("Indexes of version 1 are read, and built again with the same bytes", "[format][index]") {
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
    CHECK(old.manifest().codec_options == options.codec_options);
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
