#include <limits>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/plan/cache_plan.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"

/// The GPU's list store holds exactly what the planner fills, checked on the host.
namespace quern {
namespace {

using namespace testing;

/// A plan by each policy for a log of all terms, with this budget.
std::vector<CachePlan> plans_for(const QueryEngine& engine, const CacheBlocks& blocks, const Resources& resources,
                                 const std::vector<std::string>& terms, PlanOptions options) {
  LogQueries log(engine.index().manifest().analyzer, resources);
  for (const std::string& term : terms) log.add(term);
  options.demand.round = engine.index().block_size();
  const LogDemand demand = measure_demand(engine, blocks, log, options.demand, resources);
  std::vector<CachePlan> plans;
  for (const CachePolicy& policy : all_cache_policies()) {
    options.policy = policy.name;
    plans.push_back(make_plan(engine, blocks, demand, options));
  }
  return plans;
}

/// The lists of a plan that the store does not keep.
std::size_t left_out(const CachePlan& plan, const IndexReader& index, gpu::ListCache& cache) {
  std::size_t count = 0;
  gpu::ListCopies copies;
  for (const CachedList& list : plan.lists) {
    const std::uint64_t blocks = list.blocks * plan.manifest.block / index.block_size();
    if (!cache.keep_front(index.list(list.term), blocks, copies)) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a list store keeps all of a plan made for its space, and each list has the planned size",
          "[plan][gpu_store][property]") {
  RandomBits random(17);
  IndexedCorpus corpus(17, {1500, 200, 40, false});
  std::size_t full_words = 0, full_rows = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 1}, 8));
    const std::uint64_t all_rows = index.container().array<docid_t>("block_last").size();
    for (const Scores scores : {Scores::exact, Scores::quantized}) {
      const bool with_impacts = scores == Scores::quantized;
      const QueryEngine engine(index, with_scores(scores));
      const CacheBlocks blocks(index, 64 * (1 + random.below(2)), corpus.pipeline.resources, with_impacts);
      for (unsigned draw = 0; draw < 6; ++draw) {
        gpu::ListCacheOptions options;
        options.words = blocks.index_bytes() / 4 * (5 + random.below(100)) / 100;
        options.rows = draw % 2 == 0 ? 0 : all_rows * (5 + random.below(100)) / 100 / 2 * 2;
        options.with_impacts = with_impacts;
        options.block_size = 64;
        const gpu::ListArenas room = options.for_fronts();
        PlanOptions plan_options;
        plan_options.budget_bytes = room.words * 4;
        if (options.rows > 0) plan_options.budget_rows = room.rows;
        plan_options.max_admission = draw < 3 ? 1 : 0.6;
        for (const CachePlan& plan :
             plans_for(engine, blocks, corpus.pipeline.resources, corpus.terms(1000), plan_options)) {
          INFO(codec->name << ", " << plan.manifest.policy << ", impacts " << with_impacts << ", " << options.words
                           << " words and " << options.rows << " rows");
          gpu::ListCache cache(options);
          REQUIRE(left_out(plan, index, cache) == 0);
          std::uint64_t bytes = 0, rows = 0;
          for (const CachedList& list : plan.lists) {
            bytes += list.bytes;
            rows += cache.rows_of(index.list(list.term));
          }
          REQUIRE((options.words - cache.free_words()) * 4 == bytes);
          REQUIRE(options.rows - cache.free_rows() == rows);
          CHECK(plan.manifest.budget_rows == plan_options.budget_rows);
          full_words += bytes > plan_options.budget_bytes / 10 * 9;
          full_rows += options.rows > 0 && rows > room.rows / 10 * 9;
        }
      }
    }
  }
  CHECK(full_words > 5);
  CHECK(full_rows > 5);
}

TEST_CASE("fronts leave a quarter of the words and rows for the lists of batches", "[plan][gpu_store]") {
  IndexedCorpus corpus(19, {1500, 200, 40, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const QueryEngine engine(index, {});
  const CacheBlocks blocks(index, 64);
  PlanOptions whole;
  whole.budget_bytes = blocks.index_bytes();
  const CachePlan plan = plans_for(engine, blocks, corpus.pipeline.resources, corpus.terms(1000), whole).front();
  for (const std::uint64_t rows : {std::uint64_t{0}, std::uint64_t{40}}) {
    gpu::ListCacheOptions options;
    options.words = blocks.kept_bytes() / 4;
    options.rows = rows;
    options.block_size = 64;
    gpu::ListCache cache(options);
    CHECK(left_out(plan, index, cache) > 0);
    CHECK(options.words - cache.free_words() <= options.words / 4 * 3);
    CHECK(cache.free_rows() >= rows / 4);
  }
}

TEST_CASE("an index's size on a GPU is that of its lists, rows and per-document values", "[plan][gpu_store]") {
  IndexedCorpus corpus(23, {900, 200, 40, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const auto bytes_of = [&](const char* section) {
    return index.container().array<std::uint32_t>(section).size_bytes();
  };
  const QueryEngine exact(index, with_scores(Scores::exact)), quantized(index, with_scores(Scores::quantized));
  const gpu::IndexSizes plain = gpu::sizes_of(index, nullptr), exact_sizes = gpu::sizes_of(index, &exact),
                        quantized_sizes = gpu::sizes_of(index, &quantized);
  CHECK(plain.lists == bytes_of("postings"));
  CHECK(exact_sizes.lists == plain.lists);
  CHECK(quantized_sizes.lists == plain.lists + bytes_of("impacts"));
  CHECK(plain.rows == bytes_of("block_last") / 4 * 10);
  CHECK(exact_sizes.tables == plain.tables + 4 * index.num_documents());
  CHECK(quantized_sizes.tables == plain.tables);
}

TEST_CASE("a plan's budget is three quarters of the engine's memory for lists", "[plan][gpu_store]") {
  IndexedCorpus corpus(29, {900, 200, 40, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const QueryEngine engine(index, with_scores(Scores::quantized));
  const gpu::IndexSizes sizes = gpu::sizes_of(index, &engine);
  gpu::GpuMemoryOptions memory;
  for (const double share : {0.0, 0.1, 0.5, 0.99}) {
    memory.list_share = share;
    const gpu::PlanRoom room = gpu::plan_room(engine, memory);
    CHECK_FALSE(room.whole_index);
    CHECK_FALSE(room.rows);
    const auto words = static_cast<std::uint64_t>(share * static_cast<double>(sizes.lists)) / 4;
    CHECK(room.bytes == words / 4 * 3 * 4);
  }
  memory.list_share = 1;
  CHECK(gpu::plan_room(engine, memory).whole_index);
  CHECK(gpu::plan_room(engine, memory).bytes == sizes.lists);
  memory.list_share.reset();
  memory.bytes = 1 << 20;
  CHECK_THROWS_WITH(gpu::plan_room(engine, memory), Catch::Contains(std::string("raise ") + option_name<"gpu-memory">));
  memory.bytes = 64 << 20;
  CHECK(gpu::plan_room(engine, memory).whole_index);
}

TEST_CASE("a percentage is a limit of all memory, of the lists on disk with impacts", "[plan][gpu_store]") {
  IndexedCorpus corpus(31, {900, 200, 40, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  gpu::GpuMemoryOptions memory;
  CHECK_FALSE(memory.limit(index));
  memory.bytes = 5000;
  CHECK(memory.limit(index) == 5000);
  for (const double share : {0.0, 0.3, 1.0, 2.0}) {
    memory.share = share;
    CHECK(memory.limit(index) ==
          static_cast<std::uint64_t>(share * static_cast<double>(coded_list_bytes(index, true))));
  }
  memory.share = 1e300;
  CHECK(memory.limit(index).value() > std::uint64_t{1} << 60);
  memory.share = 0.3;
  CHECK_THROWS_WITH(gpu::plan_room(QueryEngine(index, {}), memory), Catch::Contains("need at least"));
}

}  // namespace quern
