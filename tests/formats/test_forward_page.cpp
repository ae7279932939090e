#include "quern/formats/forward_file.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/checksum.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"
#include "index/pipeline/pipeline.hpp"

/// The worked example of the forward file's page.
namespace quern {

using namespace testing;

TEST_CASE("the worked example of the forward file's page holds", "[forward][format]") {
  const std::string corpus = page_block("collection.md", "corpus");
  REQUIRE(!corpus.empty());
  Pipeline pipeline;
  const StageFile file = pipeline.parse(corpus);
  const CollectionReader collection(file);
  const DocumentOrder order = pipeline.order(collection);
  const StageFile index = pipeline.build(collection, order, {});
  const StageFile forward = pipeline.new_file();
  const std::string hash = hash_text(Pipeline::open_index(index).container().content_hash());
  build_forward(collection, {order.documents, hash}, pipeline.resources, *forward);

  const ContainerReader container(forward, FileKind::forward);
  const ByteView documents = container.view("documents");
  const auto offsets = container.array<std::uint64_t>("document_offsets");
  REQUIRE(offsets.size() == 3);
  std::map<std::string, std::string> made;
  for (std::size_t i = 0; i < 2; ++i)
    made["document " + std::to_string(i)] = hex_text(documents.subspan(offsets[i], offsets[i + 1] - offsets[i]));
  for (const char* section : {"document_offsets", "out_links", "in_links"})
    made[section] = hex_text(container.view(section));
  CHECK(page_bytes("forward.md", "bytes") == made);
  CHECK(documents.size() == offsets[2] + 72);
}

}  // namespace quern
