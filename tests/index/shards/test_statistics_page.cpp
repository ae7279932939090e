#include "quern/index/shards/statistics.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"
#include "index/pipeline/pipeline.hpp"

namespace quern {

using namespace testing;

TEST_CASE("the worked example of the statistics' page holds", "[shards][format]") {
  const Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(page_block("collection.md", "corpus")));
  const StageFile file = pipeline.new_file();
  write_statistics(collection, pipeline.resources, *file);
  const ContainerReader statistics(file, FileKind::statistics);
  const auto shown = page_bytes("statistics.md", "bytes");
  CHECK(shown.size() == 2);
  for (const auto& [section, bytes] : shown) CHECK(hex_text(statistics.view(section)) == bytes);
}

}  // namespace quern
