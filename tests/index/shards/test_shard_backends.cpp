#include "quern/gpu/query_backend.hpp"
#include "quern/plan/cost_model.hpp"

#include "catch.hpp"
#ifdef QUERN_HAS_CUDA
#include "gpu/failing_strategy.hpp"
#endif
#include "gpu/fake_gpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/shards/split_corpus.hpp"
#include "search/read_queries.hpp"

/// Queries over all shards have the whole index's results, on any device, for any number of queries at a time.
namespace quern {
namespace {

using namespace testing;

constexpr std::size_t queries = 300;

/// A random index as a whole and in shards, and queries with the whole index's results.
class ShardedIndex {
 public:
  ShardedIndex(std::uint64_t seed, std::uint32_t count)
      : corpus_(random_corpus(seed, {300, 120, 40, true}), 2),
        order_(corpus_.pipeline.order(corpus_.whole, OrderBy::random, seed)),
        whole(Pipeline::open_index(corpus_.pipeline.build(corpus_.whole, order_, {}))),
        shards(open(count)),
        engine_(whole, {}),
        random_(seed) {
    for (const IndexReader& shard : shards) {
      owned_engines_.push_back(std::make_unique<QueryEngine>(shard, ScoringOptions()));
      engines.push_back(owned_engines_.back().get());
    }
    std::vector<std::string> terms;
    for (std::uint64_t block = 0; block < whole.num_lexicon_blocks(); ++block)
      whole.for_each_list(block, [&](std::string_view term, const PostingList&) { terms.emplace_back(term); });
    for (std::size_t i = 0; i < queries; ++i) owned_.push_back(text_of(draw_query(random_, terms)));
    owned_[7] = "";
    owned_[8] = "notinanyofthem";
    texts.assign(owned_.begin(), owned_.end());
    read = read_all(engine_, texts);
  }

  /// The whole index's results.
  std::vector<ScoredDocument> expected(std::size_t query, const QueryAlgorithm& algorithm, std::size_t k,
                                       const DocumentSet* passing = nullptr) {
    return engine_.search(read.views()[query], algorithm, k, nullptr, passing);
  }
  /// Checks that every algorithm has the whole index's results, in query order, each rendered before its delivery.
  void check(SearchBackend& backend, unsigned threads, std::uint64_t held_bytes) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      for (const std::size_t k : {std::size_t{1}, std::size_t{6}, std::size_t{1000}}) {
        INFO(algorithm.name << ", k = " << k << ", " << threads << " threads, " << held_bytes << " bytes held");
        std::vector<QueryAnswer> answers;
        AnswerConsumer consumer;
        consumer.threads = threads;
        consumer.held_bytes = held_bytes;
        consumer.render = [](std::size_t i, QueryAnswer& answer) { answer.text = std::to_string(i); };
        consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
          REQUIRE(i == answers.size());
          REQUIRE(answer.text == std::to_string(i));
          answers.push_back(answer);
        };
        run(backend, {read.views(), &algorithm, k}, consumer);
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
  std::vector<const QueryEngine*> engines;
  std::vector<std::string_view> texts;
  ParsedQueries read;

 private:
  const QueryEngine engine_;
  std::vector<std::unique_ptr<QueryEngine>> owned_engines_;
  RandomBits random_;
  std::vector<std::string> owned_;
};

BackendOptions backend_options(QueryDevice device, std::size_t batch_queries) {
  BackendOptions options;
  options.device = device;
  options.gpu.batch_queries = batch_queries;
  options.gpu.gpus = 0;
  return options;
}

}  // namespace

TEST_CASE("the CPU answers queries over shards as over the whole index", "[shards][query][property]") {
  for (const std::uint32_t count : {1u, 2u, 5u}) {
    ShardedIndex index(60 + count, count);
    CpuBackend backend(index.engines);
    // So little that most answers wait to start.
    for (const unsigned threads : {1u, 8u}) index.check(backend, threads, threads == 1 ? default_held_bytes : 100);
  }
}

TEST_CASE("queries over shards use a filter for each shard", "[shards][query]") {
  ShardedIndex index(71, 3);
  CpuBackend backend(index.engines);
  DocumentSet whole_filter(index.whole.num_documents());
  std::vector<DocumentSet> sets;
  for (const IndexReader& shard : index.shards) sets.emplace_back(shard.num_documents());
  for (docid_t docid = 0; docid < index.whole.num_documents(); docid += 3) {
    const IndexShards::Place place = index.shards.place(docid);
    whole_filter.add(docid);
    sets[place.shard].add(place.docid);
  }
  std::vector<const DocumentSet*> passing;
  for (const DocumentSet& set : sets) passing.push_back(&set);
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    AnswerConsumer consumer;
    consumer.threads = 4;
    consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
      require_same(answer.documents, index.expected(i, algorithm, 5, &whole_filter));
    };
    run(backend, {index.read.views(), &algorithm, 5, passing}, consumer);
  }
}

TEST_CASE("an error in one shard ends a query over shards, and the next one runs", "[shards][query]") {
  ShardedIndex index(72, 3);
  CpuBackend backend(index.engines);
  const DocumentSet all_but_last(index.shards[0].num_documents()), second_documents(index.shards[1].num_documents());
  const DocumentSet wrong(index.shards[2].num_documents() + 1);
  const std::vector<const DocumentSet*> passing{&all_but_last, &second_documents, &wrong};
  const AnswerConsumer consumer{{}, [](std::size_t, const QueryAnswer&) {}, 8};
  CHECK_THROWS_WITH(run(backend, {index.read.views(), &algorithm_named("or"), 5, passing}, consumer),
                    Catch::Contains("the filter is a set of"));
  index.check(backend, 8, default_held_bytes);
}

TEST_CASE("only documents that score no more than a given score may be omitted", "[query][property]") {
  ShardedIndex index(73, 1);
  const QueryEngine engine(index.whole, {});
  std::uint64_t scored = 0, scored_above = 0;
  for (std::size_t i = 0; i < queries; ++i) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      const auto all = index.expected(i, algorithm, 20);
      if (all.size() < 8) continue;
      INFO("query " << index.texts[i] << " by " << algorithm.name);
      const float above = all[i % 8].score;
      QueryStatistics statistics, statistics_of_all;
      const QueryView query = index.read.views()[i];
      auto found = engine.search(query, algorithm, 20, &statistics, nullptr, above);
      engine.search(query, algorithm, 20, &statistics_of_all);
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

TEST_CASE("GPUs answer queries over shards as the CPU does over the whole index, in groups of any size",
          "[gpu][shards]") {
  SKIP_WITHOUT_GPU();
  NoProgress progress;
  for (const std::uint32_t count : {1u, 2u, 5u}) {
    ShardedIndex index(80 + count, count);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{16384}}) {
      QueryBackend backend(index.engines, backend_options(QueryDevice::gpu, batch), progress);
      for (const unsigned threads : {1u, 8u})
        index.check(backend.backend(), threads, threads == 1 ? default_held_bytes : 100);
    }
  }
}

TEST_CASE("GPUs that have part of the lists answer over shards by a plan for each", "[gpu][shards]") {
  SKIP_WITHOUT_GPU();
  NoProgress progress;
  RandomBits random(95);
  ShardedIndex index(95, 3);
  std::vector<CachePlan> plans;
  for (const IndexReader& shard : index.shards) plans.push_back(random_plan(shard, random));
  BackendOptions options = backend_options(QueryDevice::gpu, 50);
  for (const CachePlan& plan : plans) {
    gpu::GpuMemoryOptions& memory = options.shard_memory.emplace_back();
    memory.list_share = 0.3;
    memory.plan = &plan;
  }
  QueryBackend backend(index.engines, options, progress);
  index.check(backend.backend(), 4, default_held_bytes);
}

#ifdef QUERN_HAS_CUDA
TEST_CASE("the CPU answers for shards whose GPU fails", "[gpu][shards]") {
  SKIP_WITHOUT_GPU();
  NoProgress progress;
  ShardedIndex index(90, 3);
  const gpu::Strategy failing = failing_on_first_gpu();
  BackendOptions options = backend_options(QueryDevice::automatic, 5);
  options.gpu.strategy = &failing;
  std::vector<std::string> notices;
  options.notice = [&](const std::string& text) { notices.push_back(text); };
  QueryBackend backend(index.engines, options, progress);
  index.check(backend.backend(), 4, default_held_bytes);
  // Shards on other GPUs go on. Without any, searches that overlap may report single shards first.
  if (list_gpus().size() > 1) CHECK(notices.size() == (3 + list_gpus().size() - 1) / list_gpus().size());
  REQUIRE_FALSE(notices.empty());
  CHECK(notices.back().starts_with("the CPU answers the remaining queries") == (list_gpus().size() == 1));
  options.device = QueryDevice::gpu;
  QueryBackend strict(index.engines, options, progress);
  const AnswerConsumer consumer{{}, [](std::size_t, const QueryAnswer&) {}, 4};
  CHECK_THROWS_AS(run(strict.backend(), {index.read.views(), &algorithm_named("or"), 5}, consumer), CudaError);
}
#endif

TEST_CASE("a CPU and GPUs share queries over shards, with the whole index's results", "[gpu_shared][shards]") {
  for (const std::uint32_t count : {1u, 3u}) {
    ShardedIndex index(100 + count, count);
    const CpuBackend cpu(index.engines);
    FakeGpus fake(cpu, 9);
    FallibleGpus gpus(fake, [](const std::string&) {});
    HybridOptions options;
    options.schedule_options.cpu_threads = 2;
    options.max_batch = 20;
    HybridBackend hybrid(cpu, gpus, {}, options);
    index.check(hybrid, 2, 10000);
    CHECK(hybrid.figures().on_cpu.queries() > 0);
  }
}

TEST_CASE("features over shards are those of the whole index", "[gpu_shared][shards]") {
  ShardedIndex index(110, 4);
  for (const QueryView query : index.read.views())
    for (const Matching matching : {Matching::any, Matching::all}) {
      QueryFeatures whole = features_of(index.whole, query, matching);
      QueryFeatures found = features_of(index.engines, query, matching);
      // Lists are cut into blocks shard by shard.
      CHECK(found.blocks >= whole.blocks);
      found.blocks = whole.blocks;
      CHECK(found == whole);
    }
}

}  // namespace quern
