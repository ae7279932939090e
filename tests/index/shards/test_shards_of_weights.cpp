#include "quern/search/top_k.hpp"

#include "catch.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "index/shards/split_corpus.hpp"

/// Shards of collections with given weights, and of kept fields.
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
