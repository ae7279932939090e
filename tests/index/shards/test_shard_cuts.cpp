#include <numeric>

#include "quern/core/random.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/shards/cut_index.hpp"

#include "catch.hpp"
#include "index/shards/split_corpus.hpp"

/// Where an index is cut into shards.
namespace quern {
namespace {

using namespace testing;

std::vector<docid_t> cut(const std::vector<std::uint32_t>& postings, std::size_t count) {
  std::vector<docid_t> documents(postings.size());
  std::iota(documents.begin(), documents.end(), docid_t{0});
  return cut_into_shards(postings, documents, count);
}

/// Postings of each document, by reading all lists.
std::vector<std::uint32_t> postings_of(const IndexReader& index) {
  std::vector<std::uint32_t> counts(index.num_documents());
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      BlockReader reader(index, list);
      for (std::size_t i = 0; i < reader.num_blocks(); ++i) {
        reader.load(i);
        for (const docid_t docid : reader.docids()) ++counts[docid];
      }
    });
  return counts;
}

/// Postings of an index of many documents: `often` in all, `seldom` in a third of the first quarter.
IndexReader index_of_many(Pipeline& pipeline, int documents, unsigned block_size) {
  std::string text;
  for (int i = 0; i < documents; ++i)
    text += "{\"id\":\"" + std::to_string(i) + "\",\"contents\":\"often often often" +
            (i < documents / 4 && i % 3 == 0 ? " seldom" : "") + "\"}\n";
  const StageFile file = pipeline.parse(text);
  const CollectionReader collection(file);
  BuildOptions options;
  options.codec_options.block_size = block_size;
  return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
}

}  // namespace

TEST_CASE("shards are ranges of docIDs with about equally many postings", "[shards]") {
  CHECK(cut({9, 9, 9, 9}, 2) == std::vector<docid_t>{0, 2});
  CHECK(cut({100, 0, 0, 0}, 2) == std::vector<docid_t>{0, 1});
  CHECK(cut({1}, 3) == std::vector<docid_t>{0, 1, 1});
  CHECK(cut({1, 100, 1}, 3) == std::vector<docid_t>{0, 1, 2});
  CHECK(cut({1, 1, 100}, 3) == std::vector<docid_t>{0, 1, 2});
  CHECK(cut(std::vector<std::uint32_t>(1000, 5), 1) == std::vector<docid_t>{0});
  RandomBits random(1);
  std::vector<std::uint32_t> postings;
  std::uint64_t all = 0;
  for (int i = 0; i < 5000; ++i) all += postings.emplace_back(static_cast<std::uint32_t>(random.below(300))) + 1;
  const auto firsts = cut(postings, 7);
  REQUIRE(firsts.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    std::uint64_t shard_postings = 0;
    for (docid_t docid = firsts[i]; docid < (i < 6 ? firsts[i + 1] : 5000); ++docid)
      shard_postings += postings[docid] + 1;
    CHECK(shard_postings * 7 > all - 7 * 301);
    CHECK(shard_postings * 7 < all + 7 * 301);
  }
  // In the order's sequence of documents, not the collection's.
  const std::vector<std::uint32_t> few{1, 1, 1, 9};
  CHECK(cut_into_shards(few, std::vector<docid_t>{3, 2, 1, 0}, 2) == std::vector<docid_t>{0, 1});
  CHECK(cut_into_shards(few, std::vector<docid_t>{0, 1, 2, 3}, 2) == std::vector<docid_t>{0, 3});
}

TEST_CASE("shards of ranges start at range borders", "[shards]") {
  CHECK(cut_into_shards(RangeCounts{{4, 4, 4, 4}, 8}, 30, 2) == std::vector<docid_t>{0, 16});
  CHECK(cut_into_shards(RangeCounts{{9, 1, 1, 1}, 8}, 30, 3) == std::vector<docid_t>{0, 8, 16});
}

TEST_CASE("the postings of a collection's documents are those of their lists", "[shards][property]") {
  // Small chunks split documents, so their postings are in several chunks.
  for (const std::uint64_t chunk_bytes : {std::uint64_t{300}, ChunkLimits().bytes}) {
    for (std::uint64_t seed = 40; seed < 44; ++seed) {
      INFO("seed " << seed << ", chunks of " << chunk_bytes);
      ChunkLimits limits;
      limits.bytes = static_cast<std::size_t>(chunk_bytes);
      const auto documents = random_corpus(seed, {80, 150, 90, true});
      SplitCorpus corpus(as_jsonl(documents), SplitCorpus::texts_of(documents, 2, as_jsonl), limits);
      CHECK((chunk_bytes == 300) == !corpus.joined.split_documents().empty());
      const DocumentOrder order = corpus.pipeline.order(corpus.whole, OrderBy::random, seed);
      const IndexReader index = Pipeline::open_index(corpus.pipeline.build(corpus.whole, order, {}));
      const std::vector<std::uint32_t> list_counts = postings_of(index);
      for (const unsigned threads : {1u, 4u}) {
        Resources resources = corpus.pipeline.resources;
        resources.threads = threads;
        const std::vector<std::uint32_t> document_counts = count_postings(corpus.joined, resources);
        for (docid_t docid = 0; docid < index.num_documents(); ++docid)
          REQUIRE(document_counts[order.documents[docid]] == list_counts[docid]);
      }
      // Without long lists, an index's documents are counted exactly.
      const RangeCounts counts = count_postings(index);
      CHECK(counts.documents == 1);
      CHECK(std::vector<std::uint64_t>(list_counts.begin(), list_counts.end()) == counts.postings);
    }
  }
}

TEST_CASE("blocks of long lists count as a whole", "[shards]") {
  Pipeline pipeline;
  constexpr int documents = 4096;
  const IndexReader index = index_of_many(pipeline, documents, 32);
  const RangeCounts counts = count_postings(index);
  REQUIRE(counts.postings.size() == documents);
  const std::vector<std::uint32_t> exact = postings_of(index);
  std::uint64_t row_counts = 0, list_counts = 0;
  for (int i = 0; i < documents; ++i) {
    row_counts += counts.postings[i];
    list_counts += exact[i];
    // `often` has 128 blocks, `seldom` 11.
    REQUIRE(row_counts + 17 > list_counts);
    REQUIRE(list_counts + 17 > row_counts);
  }
  CHECK(row_counts == list_counts);
  CHECK(counts.postings != std::vector<std::uint64_t>(exact.begin(), exact.end()));
}

}  // namespace quern
