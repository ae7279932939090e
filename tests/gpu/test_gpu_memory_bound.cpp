#include "quern/core/random.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/gpu/gpu_cache_subject.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "search/read_queries.hpp"

/// No engine allocates more GPU memory than it is allowed, and all results are the CPU's.
namespace quern {
namespace {

using namespace testing;

/// A random limit, mostly of a size with which some lists must be copied, and random ways to keep and copy these.
gpu::GpuMemoryOptions limited_memory(const CachePlan& plan, RandomBits& random) {
  gpu::GpuMemoryOptions memory;
  memory.share = (5 + random.below(96)) / 100.0;
  if (random.below(4) == 0) memory.list_buffer = (1 + random.below(8)) << 18;
  if (random.below(2) == 0) memory.plan = &plan;
  memory.retention = gpu::list_retentions[random.below(std::size(gpu::list_retentions))].value;
  memory.tails = gpu::list_tails[random.below(std::size(gpu::list_tails))].value;
  memory.transfers = gpu::list_transfers[random.below(std::size(gpu::list_transfers))].value;
  return memory;
}

/// Engines with random limits.
class BoundedEngines {
 public:
  BoundedEngines(const QueryEngine& engine, std::vector<std::string> queries, RandomBits& random)
      : engine_(engine), texts_(std::move(queries)), views_(texts_.begin(), texts_.end()), random_(random) {}

  void rank(const gpu::Strategy& strategy) {
    GpuOptions options;
    options.strategy = &strategy;
    draw(options);
    GpuStatistics statistics;
    within_limit(options.memory, statistics, [&] {
      GpuEngine gpu(engine_, options, progress_);
      Analyzer analyzer = engine_.make_analyzer();
      for (const char* name : {"or", "bmw", "and"}) {
        const QueryAlgorithm& algorithm = algorithm_named(name);
        if (!gpu::answers(strategy, algorithm)) continue;
        const std::size_t k = 1 + random_.below(20);
        GpuStatistics counted;
        const auto answers = search_texts(gpu, engine_, views_, algorithm, k, &counted);
        statistics += counted;
        for (std::size_t i = 0; i < views_.size(); ++i) {
          INFO(strategy.name << ", " << name << ", k " << k << ", query " << views_[i]);
          require_same(answers[i], engine_.search(terms_of_text(views_[i], analyzer), algorithm, k));
        }
      }
    });
  }

  void intersect(const GpuIntersectionMethod& method) {
    GpuIntersectionOptions options;
    draw(options);
    GpuIntersectionStatistics statistics;
    within_limit(options.memory, statistics, [&] {
      GpuIntersection gpu(engine_.index(), method, options, progress_);
      const Intersection cpu(engine_.index(), all_intersection_methods().front(), {});
      const ParsedQueries read = read_all(cpu, views_);
      Intersection::WorkSpace space;
      gpu.run(
          read.views(),
          [&](std::size_t i, std::span<const docid_t> documents) {
            INFO(method.name << ", query " << views_[i]);
            IntersectionAnswer answer;
            cpu.answer(read.views()[i], space, answer);
            REQUIRE(std::vector<docid_t>(documents.begin(), documents.end()) == answer.documents);
          },
          &statistics);
    });
  }

  std::size_t answered = 0, refused = 0, windows = 0, kept = 0;

 private:
  template <class Options>
  void draw(Options& options) {
    plan_ = random_plan(engine_.index(), random_);
    options.memory = limited_memory(plan_, random_);
    options.batch_queries = random_.below(2) == 0 ? 4096 : 1 + random_.below(30);
  }

  /// Calls run(), which must stay within the memory or be refused, naming a sufficient amount.
  template <class Run>
  void within_limit(const gpu::GpuMemoryOptions& memory, const GpuWorkStatistics& statistics, const Run& run) {
    const std::uint64_t limit = memory.limit(engine_.index()).value();
    INFO("memory " << *memory.share << ", that is " << limit << ", plan " << (memory.plan != nullptr) << ", cache "
                   << name_of_value(gpu::list_retentions, memory.retention) << ", tails "
                   << name_of_value(gpu::list_tails, memory.tails) << ", transfers "
                   << name_of_value(gpu::list_transfers, memory.transfers));
    try {
      run();
    } catch (const GpuOutOfMemory& error) {
      REQUIRE_THAT(error.what(), Catch::Contains(std::string("raise ") + option_name<"gpu-memory">));
      ++refused;
      return;
    } catch (const InvalidArgument& error) {
      REQUIRE_THAT(error.what(), Catch::Contains("but a list buffer has only"));
      ++refused;
      return;
    }
    ++answered;
    windows += statistics.windows;
    kept += statistics.lists.resident_lists;
    REQUIRE(statistics.limit_bytes == limit);
    REQUIRE(statistics.peak_bytes > 0);
    REQUIRE(statistics.peak_bytes <= limit);
  }

  const QueryEngine& engine_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
  RandomBits& random_;
  CachePlan plan_;
  NoProgress progress_;
};

/// A plan that keeps as many blocks of all lists as fit, in the order of terms.
CachePlan plan_of(const IndexReader& index, std::uint64_t bytes) {
  CachePlan plan;
  plan.manifest.block = index.block_size();
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (!is_kept(list) || 4 * list.words.size() > bytes) return;
      bytes -= 4 * list.words.size();
      plan.lists.push_back({list.number, static_cast<std::uint32_t>(list.block_last.size()), 0});
    });
  return plan;
}

/// The CPU's EngineRun::results_hash: of the queries that have results.
std::uint64_t hash_on_cpu(const QueryEngine& engine, std::span<const QueryView> queries, std::size_t k) {
  StreamHash hash;
  const auto add = [&](const auto& number) {
    hash.add(as_bytes(std::string_view(reinterpret_cast<const char*>(&number), sizeof(number))));
  };
  for (const QueryView query : queries) {
    const auto documents = engine.search(query, algorithm_named("and"), k);
    if (!documents.empty()) add(documents.size());
    for (const ScoredDocument& document : documents) {
      add(document.docid);
      add(document.score);
    }
  }
  return hash.value();
}

}  // namespace

TEST_CASE("with list buffers, a batch ends when the lists that it misses fill one", "[gpu][gpu_store]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(127, {80000, 1500, 1100, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const auto texts = texts_of_queries(draw_queries(5, corpus.model, 60));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const QueryEngine engine(index, {});
  NoProgress progress;
  GpuOptions options;
  options.strategy = &gpu::strategy_named("wang");
  gpu::GpuMemoryOptions& memory = options.memory;
  memory.bytes = 11 << 20;
  const gpu::Strategy* const strategy = options.strategy;
  memory.needs = gpu::needs_of({&strategy, 1}, index, options.batch_queries);
  const std::uint64_t without = gpu::plan_room(engine, memory).bytes;
  const QueryAlgorithm& all_terms = algorithm_named("and");
  std::uint64_t batches = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t buffer : {400 << 10, 800 << 10}) {
    memory.list_buffer = buffer;
    const std::uint64_t room = gpu::plan_room(engine, memory).bytes;
    CHECK(room + 2 * buffer > without / 3 * 4);
    const CachePlan plan = plan_of(index, room), too_large = plan_of(index, room + room / 8);
    memory.plan = &too_large;
    CHECK_THROWS_WITH(GpuEngine(engine, options, progress), Catch::Contains("that list buffers leave to plans"));
    memory.plan = &plan;
    GpuEngine gpu(engine, options, progress);
    GpuStatistics statistics;
    const auto answers = search_texts(gpu, engine, views, all_terms, 10, &statistics);
    Analyzer analyzer = engine.make_analyzer();
    for (std::size_t i = 0; i < texts.size(); ++i)
      require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), all_terms, 10));
    // Each batch copies its lists at once.
    CHECK(statistics.windows == statistics.batches);
    CHECK(statistics.lists.copied_bytes <= statistics.batches * buffer);
    CHECK(statistics.lists.copied_bytes > 0);
    CHECK(statistics.batches < batches);
    batches = statistics.batches;
    CHECK(statistics.peak_bytes <= *memory.bytes);
  }
  memory.plan = nullptr;
  memory.list_buffer = 8 << 10;
  GpuEngine gpu(engine, options, progress);
  CHECK_THROWS_WITH(search_texts(gpu, engine, views, all_terms, 10),
                    Catch::Contains("the query ") && Catch::Contains("but a list buffer has only 8") &&
                        Catch::Contains(option_name<"list-buffer">));
  memory.list_buffer = *memory.bytes / 2;
  CHECK_THROWS_WITH(GpuEngine(engine, options, progress),
                    Catch::Contains("which holds the whole index") && Catch::Contains(option_name<"list-buffer">));
}

TEST_CASE("strategy wang continues on the CPU from any plan's fronts, with list buffers, PageRank and robertson IDF",
          "[gpu][gpu_store]") {
  SKIP_WITHOUT_GPU();
  RankedPages pages(131, {24000, 150, 9, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.3);
  const auto texts = texts_of_queries(draw_queries(7, ModelIndex(pages.documents, order.documents), 60));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const IndexReader index = pages.index(order, 0.3, blocks_of(64));
  ScoringOptions scoring = with_pagerank(0.3);
  scoring.idf = Idf::robertson;
  const QueryEngine engine(index, scoring);
  const ParsedQueries read = read_all(engine, views);
  GpuCacheOptions options;
  options.gpu.strategy = &gpu::strategy_named("wang");
  options.algorithm = &algorithm_named("and");
  options.memories = {{"60%", 0.6}, {"10%", 0.1}};
  options.repeats = 1;
  GpuStatistics all;
  for (const gpu::ListTails tails : {gpu::ListTails::cpu, gpu::ListTails::copy}) {
    options.gpu.memory.tails = tails;
    GpuCacheSubject subject(engine, views, read.views(), options, pages.pipeline.resources);
    const std::uint64_t buffer = coded_list_bytes(index, false) / 8;
    for (const auto& [policy, lambda] : {std::pair("vfb", 0.75), std::pair("vfb", 1.0), std::pair("qtf", 1.0)})
      for (const std::size_t k : {1, 10}) {
        INFO("tails " << name_of_value(gpu::list_tails, tails) << ", " << policy << ", k " << k);
        const CacheSetting resident{.k = k}, setting{"60%", policy, lambda, k, 4096, buffer};
        const EngineRun run = subject.run(setting);
        CHECK(run.results_hash == subject.run(resident).results_hash);
        CHECK(run.results_hash == hash_on_cpu(engine, read.views(), k));
        // The replay needs no GPU.
        const CopyDemand demand = subject.demand(setting);
        CHECK(static_cast<double>(run.statistics.lists.copied_bytes) ==
              Approx(demand.copied_bytes * static_cast<double>(subject.queries())).epsilon(0.02));
        CHECK(demand.plan_bytes <= demand.cache_bytes);
        if (tails == gpu::ListTails::copy) CHECK(run.statistics.resumed + run.statistics.ended_on_front == 0);
        all += run.statistics;
      }
    CHECK_THROWS_AS(subject.run({"60%", "vfb", 1, 10, 4096, 3 * buffer}), GpuOutOfMemory);
    CHECK_THROWS_AS(subject.run({"10%", "vfb", 1, 10, 4096, 64}), GpuOutOfMemory);
  }
  CHECK(all.ended_on_front > 0);
  CHECK(all.resumed > 0);
  CHECK(all.lists.copied_bytes > 0);
  CHECK(all.windows > 0);
}

TEST_CASE("where all lists fit, but not all decoded ones, a batch is not divided", "[gpu][gpu_store]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(131, {80000, 1500, 1100, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const auto texts = texts_of_queries(draw_queries(5, corpus.model, 60));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const QueryEngine engine(index, with_scores(Scores::quantized));
  GpuOptions options;
  const gpu::Strategy* const strategy = options.strategy;
  gpu::GpuMemoryOptions& memory = options.memory;
  memory.needs = gpu::needs_of({&strategy, 1}, index, options.batch_queries);
  const gpu::IndexSizes sizes = gpu::sizes_of(index, &engine);
  memory.bytes = sizes.lists;
  const auto all_fit = [&] {
    try {
      return gpu::divide_memory(*memory.bytes, sizes, memory, "index").all_lists;
    } catch (const GpuOutOfMemory&) {
      return false;
    }
  };
  while (!all_fit()) *memory.bytes += 256 << 10;
  NoProgress progress;
  GpuEngine gpu(engine, options, progress);
  Analyzer analyzer = engine.make_analyzer();
  std::uint64_t windows = 0, copied = 0;
  for (const char* name : {"or", "bmw", "and"}) {
    GpuStatistics statistics;
    const auto answers = search_texts(gpu, engine, views, algorithm_named(name), 10, &statistics);
    for (std::size_t i = 0; i < texts.size(); ++i)
      require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm_named(name), 10));
    CHECK(statistics.batches == 1);
    CHECK(statistics.peak_bytes <= *memory.bytes);
    windows += statistics.windows;
    copied += statistics.lists.copied_bytes;
  }
  CHECK(windows > 3);
  CHECK(copied <= sizes.lists);
}

TEST_CASE("no engine allocates more GPU memory than it may, whatever it runs", "[gpu][gpu_store][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(113);
  IndexedCorpus corpus(113, {50000, 1500, 900, false});
  const auto queries = texts_of_queries(draw_queries(3, corpus.model, 16));
  std::size_t answered = 0, refused = 0, windows = 0, kept = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, static_cast<unsigned>(random.below(3))}, 8));
    for (const Scores scores : {Scores::exact, Scores::quantized}) {
      const QueryEngine engine(index, with_scores(scores));
      INFO(codec->name << ", scores " << (scores == Scores::exact ? "exact" : "quantized"));
      BoundedEngines engines(engine, queries, random);
      for (unsigned draw = 0; draw < 2; ++draw) {
        for (const gpu::Strategy& strategy : gpu::all_strategies()) engines.rank(strategy);
        const auto& methods = all_gpu_intersection_methods();
        engines.intersect(methods[random.below(methods.size())]);
      }
      answered += engines.answered;
      refused += engines.refused;
      windows += engines.windows;
      kept += engines.kept;
    }
  }
  CHECK(answered > 15);
  CHECK(refused > 5);
  CHECK(windows > 5);
  CHECK(kept > 20);
}

}  // namespace quern
