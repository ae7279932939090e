#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/checksum.hpp"
#include "quern/rank/features/document_hits.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

namespace quern {

using namespace testing;

TEST_CASE("hits are the same with any sufficient budget", "[features][property]") {
  Pipeline pipeline;
  RandomBits random(5);
  std::string corpus;
  for (int page = 0; page < 12; ++page) {
    corpus += "<DOC>\n<DOCNO>D" + std::to_string(page) + "</DOCNO>\n<DOCHDR>\nhttp://e/x" + std::to_string(page) +
              "\n</DOCHDR>\n<title>w1 w2</title><p>";
    for (std::uint64_t i = random.below(page % 3 == 0 ? 150'000 : 50); i > 0; --i)
      corpus += (random.below(20) == 0 ? "<p>w" : " w") + std::to_string(random.below(60));
    corpus += "\n</DOC>\n";
  }
  const StageFile parsed = pipeline.parse(corpus);
  const CollectionReader collection(parsed);
  const DocumentOrder order = pipeline.order(collection);
  const StageFile index_file = pipeline.build(collection, order, {});
  const IndexReader index = Pipeline::open_index(index_file);
  const StageFile forward_file = pipeline.new_file();
  build_forward(collection, {order.documents, hash_text(index.container().content_hash())}, pipeline.resources,
                *forward_file);
  const ForwardReader forward(ContainerReader(forward_file, FileKind::forward));

  IndexPages pages({&index, 1}, {&forward, 1}, 0);
  // Terms with many hits, literals (which occur only in URLs) and unknown ones; few of them, and more than sixteen.
  std::string many = "http e x3 x5 none";
  for (int i = 0; i < 40; ++i) many += " w" + std::to_string(i);
  Analyzer analyzer{AnalyzerOptions()};
  const IndexReader* const indexes[] = {&index};
  for (const std::string& text : {std::string("w1 w2 http x3 none"), many}) {
    const FeatureQuery query = make_feature_queries(indexes, analyzer, text).front();
    bool was_alone = false, was_refused = false;
    // A document of 150,000 positions has about 60,000 hits, or 1,200,000 bytes.
    for (const std::uint64_t bytes : {std::uint64_t{1} << 12, std::uint64_t{1} << 16, std::uint64_t{1} << 20,
                                      std::uint64_t{1} << 22, std::uint64_t{1} << 26}) {
      const FeatureMemory memory(bytes, 4, pages);
      DocumentHits expected, found;
      for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
        INFO("docID " << docid << ", " << bytes << " bytes");
        expected.read(forward, docid, query);
        std::uint64_t hit_bytes = 0;
        for (const auto& stream : expected.streams()) hit_bytes += stream.hits.size() * sizeof(WordHit);
        QueryMemory::Claim claim(memory.hits());
        if (hit_bytes > memory.hits().max_alone()) {
          CHECK_THROWS_WITH(
              found.read(forward, docid, query, memory, claim),
              Catch::Contains("docID " + std::to_string(docid)) && Catch::Contains(option_name<"memory">));
          was_refused = true;
          continue;
        }
        found.read(forward, docid, query, memory, claim);
        CHECK(claim.is_alone() == (hit_bytes > memory.hits().max_share()));
        was_alone = was_alone || claim.is_alone();
        for (std::size_t s = 0; s < num_document_streams; ++s) {
          const auto &one = expected.streams()[s], &other = found.streams()[s];
          CHECK(one.length == other.length);
          CHECK(one.phrases == other.phrases);
          CHECK(one.tf == other.tf);
          const auto same = [](const WordHit& a, const WordHit& b) {
            return a.word == b.word && a.offset == b.offset && a.phrase == b.phrase;
          };
          CHECK(std::equal(one.hits.begin(), one.hits.end(), other.hits.begin(), other.hits.end(), same));
        }
        found.release_beyond(memory.kept_bytes());
        for (const auto& stream : found.streams())
          CHECK(stream.hits.capacity() * sizeof(WordHit) <= memory.kept_bytes());
      }
    }
    CHECK(was_alone);
    CHECK(was_refused);
  }
}

}  // namespace quern
