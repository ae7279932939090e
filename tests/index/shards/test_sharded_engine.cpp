#include "quern/gpu/sharded_engine.hpp"

#include "catch.hpp"
#ifdef QUERN_HAS_CUDA
#include "gpu/failing_strategy.hpp"
#endif
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/shards/split_corpus.hpp"

/// Queries over all shards have the whole's results, on any device, for any number of queries at a time.
namespace quern {
namespace {

using namespace testing;

constexpr std::size_t queries = 300;

/// A random index as a whole and in shards, and queries with the whole's results.
class ShardedIndex {
 public:
  ShardedIndex(std::uint64_t seed, std::uint32_t count)
      : corpus_(random_corpus(seed, {300, 120, 40, true}), 2),
        order_(corpus_.pipeline.order(corpus_.whole, OrderBy::random, seed)),
        whole(Pipeline::open_index(corpus_.pipeline.build(corpus_.whole, order_, {}))),
        shards(open(count)),
        engine_(whole, {}),
        random_(seed) {
    for (const IndexReader& shard : shards) engines.push_back(std::make_unique<QueryEngine>(shard, ScoringOptions()));
    std::vector<std::string> terms;
    for (std::uint64_t block = 0; block < whole.num_lexicon_blocks(); ++block)
      whole.for_each_list(block, [&](std::string_view term, const PostingList&) { terms.emplace_back(term); });
    for (std::size_t i = 0; i < queries; ++i) owned_.push_back(text_of(draw_query(random_, terms)));
    owned_[7] = "";
    owned_[8] = "notinanyofthem";
    texts.assign(owned_.begin(), owned_.end());
  }

  /// The whole's results.
  std::vector<ScoredDocument> expected(std::size_t query, const QueryAlgorithm& algorithm, std::size_t k,
                                       const DocumentSet* passing = nullptr) {
    Analyzer analyzer = engine_.make_analyzer();
    return engine_.search(texts[query], algorithm, k, analyzer, nullptr, passing);
  }
  /// Checks that every algorithm has the whole's results, in query order, each rendered before it is consumed.
  void check(ShardedEngine& engine, unsigned threads, std::uint64_t held_bytes) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      for (const std::size_t k : {std::size_t{1}, std::size_t{6}, std::size_t{1000}}) {
        INFO(algorithm.name << ", k = " << k << ", " << threads << " threads, " << held_bytes << " bytes held");
        std::vector<QueryAnswer> answers;
        BatchSteps steps;
        steps.render = [](std::size_t i, QueryAnswer& answer) { answer.text = std::to_string(i); };
        steps.take = [&](std::size_t i, const QueryAnswer& answer) {
          REQUIRE(i == answers.size());
          REQUIRE(answer.text == std::to_string(i));
          answers.push_back(answer);
        };
        std::vector<GpuStatistics> statistics(shards.size());
        engine.run(texts, algorithm, k, threads, steps, statistics, held_bytes);
        REQUIRE(answers.size() == texts.size());
        for (std::size_t i = 0; i < answers.size(); ++i) require_same(answers[i].documents, expected(i, algorithm, k));
      }
    }
  }

 private:
  IndexShards open(std::uint32_t count) {
    OrderOptions options;
    const OrderReader order_file = corpus_.order_file(order_, options, count);
    std::vector<IndexReader> all;
    for (std::uint32_t number = 1; number <= count; ++number)
      all.push_back(corpus_.shard({number, count}, order_file, options, {}));
    return IndexShards(std::move(all));
  }

  SplitCorpus corpus_;
  DocumentOrder order_;

 public:
  const IndexReader whole;
  const IndexShards shards;
  std::vector<std::unique_ptr<QueryEngine>> engines;
  std::vector<std::string_view> texts;

 private:
  const QueryEngine engine_;
  RandomBits random_;
  std::vector<std::string> owned_;
};

GpuOptions gpu_options(std::size_t batch_queries) {
  GpuOptions options;
  options.batch_queries = batch_queries;
  options.gpus = 0;
  return options;
}

}  // namespace

TEST_CASE("the CPU answers queries over shards as over the whole", "[shards][query][property]") {
  NoProgress progress;
  for (const std::uint32_t count : {1u, 2u, 5u}) {
    ShardedIndex index(60 + count, count);
    ShardedEngine engine(index.shards, index.engines, QueryDevice::cpu, {}, progress, {});
    // Too little for most queries to start at once.
    for (const unsigned threads : {1u, 8u}) index.check(engine, threads, threads == 1 ? default_held_bytes : 100);
  }
}

TEST_CASE("queries over shards pass filters of each shard", "[shards][query]") {
  NoProgress progress;
  ShardedIndex index(71, 3);
  ShardedEngine engine(index.shards, index.engines, QueryDevice::cpu, {}, progress, {});
  DocumentSet whole_filter(index.whole.num_documents());
  std::vector<DocumentSet> sets;
  for (const IndexReader& shard : index.shards) sets.emplace_back(shard.num_documents());
  for (docid_t docid = 0; docid < index.whole.num_documents(); docid += 3) {
    const IndexShards::Place place = index.shards.place(docid);
    whole_filter.add(docid);
    sets[place.shard].add(place.docid);
  }
  ShardFilters passing;
  for (const DocumentSet& set : sets) passing.push_back(&set);
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    BatchSteps steps;
    steps.take = [&](std::size_t i, const QueryAnswer& answer) {
      require_same(answer.documents, index.expected(i, algorithm, 5, &whole_filter));
    };
    std::vector<GpuStatistics> statistics(index.shards.size());
    engine.run(index.texts, algorithm, 5, 4, steps, statistics, default_held_bytes, passing);
  }
}

TEST_CASE("an error in one shard ends a query over shards, and the next one runs", "[shards][query]") {
  NoProgress progress;
  ShardedIndex index(72, 3);
  ShardedEngine engine(index.shards, index.engines, QueryDevice::cpu, {}, progress, {});
  const DocumentSet all_but_last(index.shards[0].num_documents()), second_filter(index.shards[1].num_documents());
  const DocumentSet wrong(index.shards[2].num_documents() + 1);
  const ShardFilters passing{&all_but_last, &second_filter, &wrong};
  BatchSteps steps;
  steps.take = [](std::size_t, const QueryAnswer&) {};
  std::vector<GpuStatistics> statistics(index.shards.size());
  CHECK_THROWS_WITH(
      engine.run(index.texts, algorithm_named("or"), 5, 8, steps, statistics, default_held_bytes, passing),
      Catch::Contains("the filter is a set of"));
  index.check(engine, 8, default_held_bytes);
}

TEST_CASE("what scores no more than a given score may be left out, and nothing else", "[query][property]") {
  ShardedIndex index(73, 1);
  const QueryEngine engine(index.whole, {});
  Analyzer analyzer = engine.make_analyzer();
  std::uint64_t scored = 0, scored_above = 0;
  for (std::size_t i = 0; i < queries; ++i) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      const auto all = index.expected(i, algorithm, 20);
      if (all.size() < 8) continue;
      INFO("query " << index.texts[i] << " by " << algorithm.name);
      const float above = all[i % 8].score;
      QueryStatistics statistics, statistics_of_all;
      QueryEngine::ReadQuery query = engine.read(index.texts[i], analyzer);
      auto found = engine.search(query, algorithm, 20, above, &statistics);
      engine.search(query, algorithm, 20, -1, &statistics_of_all);
      scored += statistics_of_all.postings_scored;
      scored_above += statistics.postings_scored;
      const auto is_above = [&](const ScoredDocument& document) { return document.score > above; };
      const auto end = std::partition_point(all.begin(), all.end(), is_above);
      found.erase(std::partition_point(found.begin(), found.end(), is_above), found.end());
      require_same(found, {all.begin(), end});
    }
  }
  CHECK(scored_above < scored);
}

TEST_CASE("GPUs answer queries over shards as the CPU does over the whole, in groups of any size", "[gpu][shards]") {
  SKIP_WITHOUT_GPU();
  NoProgress progress;
  for (const std::uint32_t count : {1u, 2u, 5u}) {
    ShardedIndex index(80 + count, count);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{16384}}) {
      ShardedEngine engine(index.shards, index.engines, QueryDevice::gpu, gpu_options(batch), progress, {});
      for (const unsigned threads : {1u, 8u}) index.check(engine, threads, threads == 1 ? default_held_bytes : 100);
    }
  }
}

#ifdef QUERN_HAS_CUDA
TEST_CASE("the CPU answers for a shard whose GPU fails", "[gpu][shards]") {
  SKIP_WITHOUT_GPU();
  NoProgress progress;
  ShardedIndex index(90, 3);
  const gpu::Strategy failing = failing_on_first_gpu();
  GpuOptions options = gpu_options(5);
  options.strategy = &failing;
  std::vector<std::string> notices;
  ShardedEngine engine(index.shards, index.engines, QueryDevice::automatic, options, progress,
                       [&](const std::string& text) { notices.push_back(text); });
  index.check(engine, 4, default_held_bytes);
  // One notice for each shard of the first GPU.
  CHECK_FALSE(notices.empty());
  CHECK(notices.size() <= index.shards.size());
  ShardedEngine strict(index.shards, index.engines, QueryDevice::gpu, options, progress, {});
  BatchSteps steps;
  steps.take = [](std::size_t, const QueryAnswer&) {};
  std::vector<GpuStatistics> statistics(index.shards.size());
  CHECK_THROWS_AS(strict.run(index.texts, algorithm_named("or"), 5, 4, steps, statistics, default_held_bytes),
                  CudaError);
}
#endif

}  // namespace quern
