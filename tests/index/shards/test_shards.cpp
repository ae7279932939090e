#include "quern/core/error.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/search/top_k.hpp"

#include "catch.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/shards/split_corpus.hpp"

/// An index in shards equals the whole index bit for bit.
namespace quern {
namespace {

using namespace testing;

IndexShards all_shards(const SplitCorpus& corpus, const OrderReader& order, std::uint32_t count,
                       const OrderOptions& order_options, const BuildOptions& options) {
  std::vector<IndexReader> shards;
  // Not in docID order.
  for (std::uint32_t number = count; number > 0; --number) {
    shards.push_back(corpus.shard({number, count}, order, order_options, options));
    shards.back().container().verify(corpus.pipeline.resources);
    verify_index(shards.back(), corpus.pipeline.resources);
  }
  return IndexShards(std::move(shards));
}

Bytes merged(const IndexShards& shards, const SplitCorpus& corpus) {
  const StageFile file = corpus.pipeline.new_file();
  merge_indexes(shards, corpus.pipeline.resources, *file);
  return bytes_of(*file);
}

/// Checks that all shards together give the whole index's results, for every algorithm except and-or.
void check_results(const IndexShards& shards, const IndexReader& whole, const ScoringOptions& scoring,
                   std::uint64_t seed) {
  const QueryEngine engine(whole, scoring);
  Analyzer analyzer = engine.make_analyzer();
  std::vector<std::unique_ptr<QueryEngine>> engines;
  for (const IndexReader& shard : shards) engines.push_back(std::make_unique<QueryEngine>(shard, scoring));
  RandomBits random(seed);
  std::vector<std::string> terms;
  for (std::uint64_t block = 0; block < whole.num_lexicon_blocks(); ++block)
    whole.for_each_list(block, [&](std::string_view term, const PostingList&) { terms.emplace_back(term); });
  for (int i = 0; i < 40; ++i) {
    const std::string text = text_of(draw_query(random, terms));
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      if (algorithm.matching == Matching::all_else_any) continue;
      INFO("query " << text << "by " << algorithm.name);
      for (const std::size_t k : {1, 7, 1000}) {
        std::vector<ScoredDocument> best;
        for (std::size_t shard = 0; shard < shards.size(); ++shard)
          add_results_of_shard(best, engines[shard]->search(terms_of_text(text, analyzer), algorithm, k),
                               shards.first_docid(shard), k);
        require_same(best, engine.search(terms_of_text(text, analyzer), algorithm, k));
      }
    }
  }
}

}  // namespace

TEST_CASE("collections of splits give the index of the whole corpus", "[shards][property]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    SplitCorpus corpus(random_corpus(seed, {120, 300, 80, true}), 1 + seed % 5);
    for (const OrderBy by : {OrderBy::natural, OrderBy::url, OrderBy::bisection, OrderBy::random}) {
      const DocumentOrder order = corpus.pipeline.order(corpus.whole, by, seed);
      CHECK(corpus.pipeline.order(corpus.joined, by, seed).documents == order.documents);
      CHECK(bytes_of(*corpus.pipeline.build(corpus.joined, order, {})) ==
            bytes_of(*corpus.pipeline.build(corpus.whole, order, {})));
    }
  }
}

TEST_CASE("shards score as the whole index and merge to its bytes", "[shards][query][property]") {
  std::uint64_t seed = 100;
  for (const std::string codec : {"maskpfd", "newpfd", "rpfd", "rice"}) {
    for (const unsigned block_size : {2u, 16u, 128u}) {
      for (const unsigned quantize_bits : {0u, 8u}) {
        ++seed;
        INFO(codec << ", blocks of " << block_size << ", " << quantize_bits << " bits, seed " << seed);
        SplitCorpus corpus(random_corpus(seed, {90, 200, 60, true}), 1 + seed % 4);
        BuildOptions options;
        options.codec = codec;
        options.codec_options.block_size = block_size;
        options.quantize_bits = quantize_bits;
        OrderOptions order_options;
        order_options.by = OrderBy::random;
        order_options.seed = seed;
        const DocumentOrder order = corpus.pipeline.order(corpus.whole, order_options.by, seed);
        const StageFile file = corpus.pipeline.new_file();
        build_index(corpus.whole, order, order_options, options, corpus.pipeline.resources, *file);
        const IndexReader whole = Pipeline::open_index(file);
        const auto count = static_cast<std::uint32_t>(1 + seed % 6);
        const OrderReader order_file = corpus.order_file(order, order_options, count);
        const IndexShards shards = all_shards(corpus, order_file, count, order_options, options);
        CHECK(merged(shards, corpus) == bytes_of(*file));
        ScoringOptions scoring;
        scoring.bm25 = options.bm25;
        check_results(shards, whole, scoring, seed);
        if (quantize_bits == 0) continue;
        scoring.scores = Scores::quantized;
        check_results(shards, whole, scoring, seed);
      }
    }
  }
}

TEST_CASE("long lists of shards are merged in pieces", "[shards]") {
  // A term in this many documents needs several pieces, and some shards end within one.
  std::string text;
  constexpr int documents = 150000;
  for (int i = 0; i < documents; ++i)
    text += "{\"id\":\"" + std::to_string(i) + "\",\"contents\":\"a" + (i % 3 == 0 ? " b" : "") +
            (i % 7 == 0 ? " a" : "") + "\"}\n";
  for (const std::string codec : {"maskpfd", "newpfd", "rpfd", "rice"}) {
    INFO(codec);
    SplitCorpus corpus(random_corpus(1, {5, 5, 5, false}), 1);
    const StageFile file = corpus.pipeline.parse(text);
    const CollectionReader collection(file);
    BuildOptions options;
    options.codec = codec;
    const DocumentOrder order = corpus.pipeline.order(collection);
    const Bytes whole = bytes_of(*corpus.pipeline.build(collection, order, options));
    const StageFile statistics_file = corpus.pipeline.new_file();
    write_statistics(collection, corpus.pipeline.resources, *statistics_file);
    const StageFile order_file = corpus.pipeline.new_file();
    constexpr std::uint32_t count = 4;
    write_order(*order_file, order, {}, collection,
                cut_into_shards(count_postings(collection, corpus.pipeline.resources), order.documents, count));
    std::vector<IndexReader> shards;
    for (std::uint32_t number = 1; number <= count; ++number) {
      ShardSource source({number, count}, OrderReader(ContainerReader(order_file, FileKind::order)),
                         StatisticsReader(ContainerReader(statistics_file, FileKind::statistics)), std::nullopt);
      const StageFile shard = corpus.pipeline.new_file();
      build_index(collection, order, {}, options, corpus.pipeline.resources, *shard, &source.whole());
      shards.push_back(Pipeline::open_index(shard));
    }
    CHECK(merged(IndexShards(std::move(shards)), corpus) == whole);
  }
}

TEST_CASE("shards that do not belong together are refused", "[shards]") {
  const SplitCorpus corpus(random_corpus(7, {60, 100, 30, false}), 3);
  const DocumentOrder order = corpus.pipeline.order(corpus.whole);
  const OrderReader order_file = corpus.order_file(order, {}, 3);
  const auto shard = [&](std::uint32_t number, const BuildOptions& options = {}) {
    return corpus.shard({number, 3}, order_file, {}, options);
  };
  const auto together = [](auto&&... indexes) {
    std::vector<IndexReader> all;
    (all.push_back(std::move(indexes)), ...);
    IndexShards shards(std::move(all));
  };
  CHECK_NOTHROW(together(shard(2)));
  CHECK_THROWS_WITH(together(shard(1), shard(3)), Catch::Contains("shard 2 of 3 is missing"));
  CHECK_THROWS_WITH(together(shard(2), shard(1)), Catch::Contains("shard 3 of 3 is missing"));
  CHECK_THROWS_WITH(together(shard(1), shard(2), shard(2)), Catch::Contains("is shard 2 of 3, as is"));
  BuildOptions other;
  other.codec_options.block_size = 64;
  CHECK_THROWS_WITH(together(shard(1), shard(2, other), shard(3)), Catch::Contains("different options"));
  const OrderReader other_order = corpus.order_file(corpus.pipeline.order(corpus.whole, OrderBy::random), {}, 3);
  CHECK_THROWS_WITH(together(shard(1), corpus.shard({2, 3}, other_order, {}, {}), shard(3)),
                    Catch::Contains("a different order"));
  // A single shard doesn't know how many documents of the others contain all terms.
  const IndexReader alone = shard(1);
  const QueryEngine engine(alone, {});
  Analyzer analyzer = engine.make_analyzer();
  CHECK_THROWS_WITH(engine.search(terms_of_text("everywhere", analyzer), algorithm_named("and-or"), 10),
                    Catch::Contains("name all shards"));
  // Statistics and collections that don't match.
  ShardSource lacking({1, 3}, order_file, corpus.statistics({0, 1}), std::nullopt);
  CHECK_THROWS_WITH(lacking.check(corpus.joined, {}), Catch::Contains("0 of its 2 splits were not given"));
  CHECK_THROWS_WITH(ShardSource({1, 4}, order_file, corpus.statistics(), std::nullopt), Catch::Contains("cut into 3"));
  BuildOptions quantized;
  quantized.quantize_bits = 8;
  ShardSource unscaled({1, 3}, order_file, corpus.statistics(), std::nullopt);
  CHECK_THROWS_WITH(unscaled.check(corpus.joined, quantized), Catch::Contains(option_name<"scales">));
  Scales partial_scales =
      find_scales(CollectionReader(corpus.split(0)), corpus.statistics(), {}, corpus.pipeline.resources);
  ShardSource scaled({1, 3}, order_file, corpus.statistics(), partial_scales);
  CHECK_THROWS_WITH(scaled.check(corpus.joined, quantized), Catch::Contains("cover 1 splits"));
}

TEST_CASE("collections that do not belong together are refused", "[shards][collection]") {
  Pipeline pipeline;
  const StageFile file = pipeline.parse(as_jsonl(random_corpus(1, {20, 30, 10, false})));
  CHECK(CollectionReader(std::vector<std::shared_ptr<const File>>{file, file}).num_documents() == 40);
  pipeline.store_text = true;
  const StageFile with_text = pipeline.parse(as_jsonl(random_corpus(2, {20, 30, 10, false})));
  CHECK_THROWS_WITH(CollectionReader(std::vector<std::shared_ptr<const File>>{file, with_text}),
                    Catch::Contains("different options"));
}

}  // namespace quern
