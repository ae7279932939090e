#include "quern/index/verify_index.hpp"
#include "quern/search/top_k.hpp"

#include "catch.hpp"
#include "index/pipeline/plain_weights.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "index/shards/split_corpus.hpp"

/// Shards of collections with given weights, and with the weights of models.
namespace quern {

using namespace testing;

TEST_CASE("shards of given weights score as the whole index and merge to its bytes", "[shards][impacts][property]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    const auto documents = random_weights(seed, 150, 40, 200);
    const ImpactSettings settings{8};
    Pipeline pipeline;
    const std::string lines = as_vector_jsonl(documents);
    const std::size_t half = lines.find('\n', lines.size() / 2) + 1;
    const CollectionReader whole(parse_weights(pipeline, lines, settings));
    const std::vector<std::shared_ptr<const File>> splits = {parse_weights(pipeline, lines.substr(0, half), settings),
                                                             parse_weights(pipeline, lines.substr(half), settings)};
    CollectionReader joined(splits);
    joined.join_lexicons(pipeline.resources.tmp_folder, 1 << 20);
    OrderOptions order_options;
    order_options.by = OrderBy::random;
    const DocumentOrder order = pipeline.order(whole, order_options.by, 1);
    BuildOptions options;
    options.codec_options.block_size = seed % 2 == 0 ? 4 : 128;
    const StageFile whole_file = pipeline.new_file();
    build_index(whole, order, order_options, options, pipeline.resources, *whole_file);
    const IndexReader index = Pipeline::open_index(whole_file);
    std::vector<StatisticsReader> counted;
    for (const auto& split : splits) {
      const StageFile file = pipeline.new_file();
      write_statistics(CollectionReader(split), pipeline.resources, *file);
      counted.emplace_back(ContainerReader(file, FileKind::statistics));
    }
    const StageFile statistics = pipeline.new_file(), order_file = pipeline.new_file();
    merge_statistics(counted, pipeline.resources, *statistics);
    const std::uint32_t count = 2 + seed % 3;
    write_order(*order_file, order, order_options, joined,
                cut_into_shards(count_postings(joined, pipeline.resources), order.documents, count));
    std::vector<IndexReader> shards;
    for (std::uint32_t number = 1; number <= count; ++number) {
      ShardSource source({number, count}, OrderReader(ContainerReader(order_file, FileKind::order)),
                         StatisticsReader(ContainerReader(statistics, FileKind::statistics)), std::nullopt);
      source.check(joined, options);
      const StageFile file = pipeline.new_file();
      build_index(joined, order, order_options, options, pipeline.resources, *file, &source.whole());
      shards.push_back(Pipeline::open_index(file));
    }
    const IndexShards all(std::move(shards));
    const StageFile merged = pipeline.new_file();
    merge_indexes(all, pipeline.resources, *merged);
    CHECK(bytes_of(*merged) == bytes_of(*whole_file));
    const QueryEngine engine(index, {});
    std::vector<std::unique_ptr<QueryEngine>> engines;
    for (const IndexReader& shard : all) engines.push_back(std::make_unique<QueryEngine>(shard, ScoringOptions{}));
    RandomBits random(seed);
    for (int i = 0; i < 40; ++i) {
      std::vector<QueryTerm> query = {{"everywhere", static_cast<double>(1 + random.below(5))}};
      for (std::uint64_t terms = random.below(5); terms > 0; --terms)
        query.push_back({"T" + std::to_string(random.below(40)), static_cast<double>(1 + random.below(9))});
      query = engine.reader().use(query);
      for (const QueryAlgorithm& algorithm : all_algorithms()) {
        if (algorithm.matching == Matching::all_else_any) continue;
        INFO(algorithm.name);
        std::vector<ScoredDocument> best;
        for (std::size_t shard = 0; shard < all.size(); ++shard)
          add_results_of_shard(best, engines[shard]->search(query, algorithm, 10), all.first_docid(shard), 10);
        require_same(best, engine.search(query, algorithm, 10));
      }
    }
  }
}

TEST_CASE("shards with a weighting model score as the whole index, merge to its bytes and can be cut",
          "[shards][weighting][property]") {
  std::uint64_t seed = 0;
  for (const Weighting& weighting : some_weightings()) {
    INFO(weighting_text(weighting) << ", seed " << seed);
    const auto documents = random_corpus(++seed, {90, 150, 60, true});
    SplitCorpus corpus(documents, 1 + seed % 4);
    BuildOptions options;
    options.codec_options.block_size = seed % 2 == 0 ? 4 : 128;
    options.quantize_bits = seed % 3 == 0 ? 8 : 0;
    options.weighting = weighting;
    OrderOptions order_options;
    order_options.by = OrderBy::random;
    const DocumentOrder order = corpus.pipeline.order(corpus.whole, order_options.by, 1);
    const StageFile file = corpus.pipeline.new_file();
    build_index(corpus.whole, order, order_options, options, corpus.pipeline.resources, *file);
    const IndexReader whole = Pipeline::open_index(file);
    const auto count = static_cast<std::uint32_t>(2 + seed % 4);
    const OrderReader order_file = corpus.order_file(order, order_options, count);
    std::vector<IndexReader> built, cut;
    for (std::uint32_t number = 1; number <= count; ++number) {
      built.push_back(corpus.shard({number, count}, order_file, order_options, options));
      const StageFile cut_file = corpus.pipeline.new_file();
      cut_index(whole, {number, count}, nullptr, corpus.pipeline.resources, *cut_file);
      cut.push_back(Pipeline::open_index(cut_file));
    }
    const ModelIndex model(documents, order.documents);
    const auto queries = draw_queries(seed, model, 20);
    for (std::vector<IndexReader>* each : {&built, &cut}) {
      for (const IndexReader& shard : *each) verify_index(shard, corpus.pipeline.resources);
      const IndexShards shards(std::move(*each));
      const StageFile merged = corpus.pipeline.new_file();
      merge_indexes(shards, corpus.pipeline.resources, *merged);
      CHECK(bytes_of(*merged) == bytes_of(*file));
      for (const auto& terms : queries) {
        for (const QueryAlgorithm& algorithm : all_algorithms()) {
          if (algorithm.matching == Matching::all_else_any) continue;
          const auto results = [&](const IndexReader& index) {
            const QueryEngine engine(index, {});
            Analyzer analyzer = engine.make_analyzer();
            return engine.search(terms_of_text(text_of(terms), analyzer), algorithm, 10);
          };
          std::vector<ScoredDocument> best;
          for (std::size_t shard = 0; shard < shards.size(); ++shard)
            add_results_of_shard(best, results(shards[shard]), shards.first_docid(shard), 10);
          require_same(best, results(whole));
        }
      }
    }
  }
}

TEST_CASE("results of shards are merged by score and then by docID", "[shards][property]") {
  RandomBits random(4);
  for (int i = 0; i < 300; ++i) {
    const std::size_t k = 1 + random.below(6);
    std::vector<ScoredDocument> best, all;
    docid_t first = 0;
    for (std::uint64_t shards = random.below(5); shards > 0; --shards) {
      TopK shard_top(k, 100);
      for (docid_t docid = 0; docid < 8; ++docid) {
        const auto score = static_cast<float>(random.below(4));
        shard_top.add(docid, score);
        all.push_back({first + docid, score});
      }
      add_results_of_shard(best, shard_top.take(), first, k);
      first += 8;
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (all.size() > k) all.resize(k);
    require_same(best, all);
  }
}

}  // namespace quern
