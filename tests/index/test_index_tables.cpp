#include "quern/index/index_assembly.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

using namespace quern;
using quern::testing::Pipeline;

TEST_CASE("The tables of an index include each score of a document and the caller's memory", "[index][memory]") {
  Resources resources;
  resources.memory_bytes = (16 << 20) + 16 * 1000000;
  CHECK_NOTHROW(IndexTables{1000000}.check("c.quern", resources));
  CHECK_THROWS_AS(IndexTables{1000001}.check("c.quern", resources), InvalidArgument);
  CHECK_THROWS_WITH(IndexTables{1000001}.check("c.quern", resources),
                    Catch::Matchers::StartsWith("c.quern: an index of 1000001"));
  CHECK_THROWS_AS((IndexTables{1000000, 0, 1}.check("c.quern", resources)), InvalidArgument);
  CHECK_THROWS_AS((IndexTables{1000000, 1}.check("c.quern", resources)), InvalidArgument);
  resources.memory_bytes += 2 * 4 * 1000000 + 100;
  CHECK_NOTHROW(IndexTables{1000000, 2, 100}.check("c.quern", resources));
  CHECK_THROWS_AS((IndexTables{1000000, 2, 101}.check("c.quern", resources)), InvalidArgument);
}

TEST_CASE("An index whose tables exceed the budget is refused with nothing written", "[index][memory]") {
  Pipeline pipeline;
  std::string corpus;
  for (int i = 0; i < 100; ++i)
    corpus += "<DOC>\n<DOCNO>" + std::to_string(i) + "</DOCNO>\n<TEXT>\nmill\n</TEXT>\n</DOC>\n";
  const CollectionReader collection(pipeline.parse(corpus));
  DocumentOrder order = pipeline.order(collection);
  order.pagerank.assign(100, 0.5f);
  order.global_scores.assign(100, 0.5f);
  const std::uint64_t enough = (16 << 20) + 100 * 24 + collection.table_bytes();
  for (const std::uint64_t bytes : {enough - 1, enough}) {
    pipeline.resources.memory_bytes = bytes;
    testing::StageFile file = pipeline.new_file();
    const auto build = [&] { build_index(collection, order, {}, {}, pipeline.resources, *file); };
    if (bytes == enough) {
      CHECK_NOTHROW(build());
    } else {
      CHECK_THROWS_WITH(build(), Catch::Contains("an index of 100 documents needs"));
      CHECK(file->size() == 0);
    }
  }
}
