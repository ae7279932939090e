#include "quern/core/random.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/random_documents.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "search/read_queries.hpp"

/// GPUs with less memory than the index needs give the CPU's results, whatever is resident, loaded or evicted.
namespace quern {
namespace {

using namespace testing;

std::uint64_t list_bytes(const IndexReader& index) {
  std::uint64_t bytes = 0;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      bytes += 4 * (list.words.size() + list.impacts.size());
    });
  return bytes;
}

/// Memory for a part of the lists, with or without a plan, which may keep the lists that batches load.
gpu::GpuMemoryOptions random_memory(const CachePlan& plan, RandomBits& random) {
  gpu::GpuMemoryOptions memory;
  constexpr double shares[] = {0, 0.02, 0.1, 0.3, 0.6, 0.9};
  memory.list_share = shares[random.below(std::size(shares))];
  if (random.below(2) == 0) memory.plan = &plan;
  memory.retention = gpu::list_retentions[random.below(std::size(gpu::list_retentions))].value;
  memory.tails = gpu::list_tails[random.below(std::size(gpu::list_tails))].value;
  memory.transfers = gpu::list_transfers[random.below(std::size(gpu::list_transfers))].value;
  return memory;
}

/// For strategies that support filters, half of the queries have one.
void check_ranking(const QueryEngine& engine, const std::vector<std::string_view>& texts, const GpuOptions& options,
                   RandomBits& random, GpuStatistics& all) {
  NoProgress progress;
  Analyzer analyzer = engine.make_analyzer();
  GpuEngine gpu(engine, options, progress);
  for (const gpu::Strategy& strategy : gpu::all_strategies()) {
    gpu.set_strategy(strategy, {}, progress);
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      if (!gpu::answers(strategy, algorithm)) continue;
      const bool filtered = strategy.filters && random.below(2) == 0;
      const DocumentSet some = random_documents(engine.index().num_documents(), 1 + random.below(6), random);
      const DocumentSet* passing = filtered ? &some : nullptr;
      GpuStatistics statistics;
      const auto answers = search_texts(gpu, engine, texts, algorithm, 10, &statistics, passing);
      all += statistics;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        INFO(strategy.name << ", " << algorithm.name << ", batches of " << options.batch_queries << ", lists "
                           << options.memory.list_share.value_or(-1) << ", plan " << (options.memory.plan != nullptr)
                           << ", cache " << name_of_value(gpu::list_retentions, options.memory.retention) << ", tails "
                           << name_of_value(gpu::list_tails, options.memory.tails) << ", transfers "
                           << name_of_value(gpu::list_transfers, options.memory.transfers) << ", filtered " << filtered
                           << ", query " << texts[i]);
        require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm, 10, nullptr, passing));
      }
    }
  }
}

}  // namespace

TEST_CASE("with memory for a part of the lists, GPUs give the CPU's results", "[gpu][gpu_store][query][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(61);
  // Several ranges of documents, and lists of many blocks.
  IndexedCorpus corpus(61, {40000, 150, 9, false});
  const auto queries = texts_of_queries(draw_queries(3, corpus.model, 40));
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  GpuStatistics all;
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {64u, 128u}) {
      const IndexReader index = corpus.index(coded(*codec, {block_size, 2}, block_size == 128 ? 8 : 0));
      const CachePlan plan = random_plan(index, random);
      for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
        GpuOptions options;
        options.batch_queries = batch;
        options.memory = random_memory(plan, random);
        const Scores scores = block_size == 128 && batch != 7 ? Scores::quantized : Scores::exact;
        check_ranking(QueryEngine(index, with_scores(scores)), texts, options, random, all);
      }
    }
  }
  CHECK(all.lists.copied_bytes > 0);
  CHECK(all.lists.resident_lists > 0);
  CHECK(all.lists.evicted_lists > 0);
  CHECK(all.windows > 0);
  CHECK(all.resumed > 0);
}

TEST_CASE("GPUs that end on fronts of lists give the CPU's results", "[gpu][gpu_store][query][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(83);
  RankedPages pages(83, {24000, 150, 9, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const auto queries = texts_of_queries(draw_queries(3, ModelIndex(pages.documents, order.documents), 60));
    const std::vector<std::string_view> texts(queries.begin(), queries.end());
    const IndexReader index = pages.index(order, alpha, blocks_of(64));
    const CachePlan plan = random_plan(index, random);
    GpuStatistics all;
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      GpuOptions options;
      options.batch_queries = batch;
      options.memory = random_memory(plan, random);
      options.memory.list_share = 0.5;
      options.memory.plan = &plan;
      for (const auto& tails : gpu::list_tails) {
        options.memory.tails = tails.value;
        GpuStatistics statistics;
        check_ranking(QueryEngine(index, with_pagerank(alpha)), texts, options, random, statistics);
        if (tails.value != gpu::ListTails::copy) all += statistics;
        // Whether queries end on fronts depends on memory and filters; the check below requires that some do.
        if (tails.value == gpu::ListTails::copy) CHECK(statistics.ended_on_front + statistics.resumed == 0);
      }
    }
    CHECK(all.ended_on_front > 0);
    CHECK(all.resumed > 0);
    CHECK(all.resume_us > 0);
    CHECK(all.lists.cut_bytes > 0);
  }
}

TEST_CASE("GPUs respect their memory limit", "[gpu][gpu_store][sanitize]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(67, {20000, 2000, 60, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const auto queries = texts_of_queries(draw_queries(5, corpus.model, 200));
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  const QueryEngine engine(index, {});
  RandomBits random(89);
  for (const std::uint64_t megabytes : {14, 20, 40}) {
    GpuOptions options;
    options.memory.bytes = megabytes << 20;
    INFO(megabytes << " MB for " << list_bytes(index) << " bytes of lists");
    GpuStatistics all;
    check_ranking(engine, texts, options, random, all);
    CHECK(all.peak_bytes <= *options.memory.bytes);
    CHECK(all.limit_bytes == *options.memory.bytes);
  }
  GpuOptions options;
  options.memory.bytes = 1 << 20;
  NoProgress progress;
  CHECK_THROWS_WITH(GpuEngine(engine, options, progress), Catch::Contains("queries on a GPU need at least"));
  options.memory.bytes = std::uint64_t{1} << 50;
  CHECK_THROWS_WITH(GpuEngine(engine, options, progress), Catch::Contains("is free on the"));
}

TEST_CASE("GPUs read lists directly from the mapped index file", "[gpu][gpu_store]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(75, {40000, 150, 9, false});
  const auto queries = texts_of_queries(draw_queries(7, corpus.model, 60));
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 2}, 8));
  GpuOptions options;
  options.memory.list_share = 0.05;
  options.memory.transfers = gpu::ListTransfers::direct;
  RandomBits random(97);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{4096}}) {
    options.batch_queries = batch;
    GpuStatistics all;
    check_ranking(QueryEngine(index, {}), texts, options, random, all);
    CHECK(all.lists.direct_bytes > all.lists.copied_bytes / 2);  // words outside of whole pages are staged
    CHECK(all.lists.in_place_lists > 0);
  }
  SECTION("once that pays") {
    options.memory.transfers = gpu::ListTransfers::automatic;
    options.memory.retention = gpu::ListRetention::none;
    const QueryEngine engine(index, {});
    NoProgress progress;
    GpuEngine gpu(engine, options, progress);
    Analyzer analyzer = engine.make_analyzer();
    GpuStatistics first, last;
    for (unsigned turn = 0; turn < 30; ++turn) {
      const auto answers = search_texts(gpu, engine, texts, algorithm_named("or"), 10, turn == 0 ? &first : &last);
      for (std::size_t i = 0; i < texts.size(); ++i)
        require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm_named("or"), 10));
    }
    CHECK(first.lists.copied_bytes > 0);
    CHECK(first.lists.direct_bytes == 0);
    CHECK(last.lists.direct_bytes > 0);
  }
  SECTION("unless less host memory may be pinned") {
    IndexedCorpus large(77, {120000, 2000, 400, false});
    const IndexReader more = large.index(coded(*all_codecs().front(), {64, 2}));
    options.memory.pinned_bytes = 8 << 20;
    REQUIRE(list_bytes(more) > *options.memory.pinned_bytes);
    NoProgress progress;
    CHECK_THROWS_WITH(GpuEngine(QueryEngine(more, {}), options, progress),
                      Catch::Contains("of host memory, but only") && Catch::Contains("use staged transfers"));
  }
}

TEST_CASE("copies respect the limit on pinned host memory", "[gpu][gpu_store]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(69, {20000, 300, 60, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const auto queries = texts_of_queries(draw_queries(5, corpus.model, 3000));
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  const QueryEngine engine(index, {});
  NoProgress progress;
  Analyzer analyzer = engine.make_analyzer();
  GpuOptions options;
  options.memory.pinned_bytes = 8 << 20;
  GpuStatistics ranking_statistics;
  GpuEngine ranking(engine, options, progress);
  const auto answers = search_texts(ranking, engine, texts, algorithm_named("or"), 1000, &ranking_statistics);
  for (std::size_t i = 0; i < texts.size(); i += 97)
    require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm_named("or"), 1000));
  const auto pinned = static_cast<std::size_t>(gpu::MemoryUse::pinned);
  CHECK(ranking_statistics.memory[pinned] > 0);
  CHECK(ranking_statistics.memory[pinned] <= *options.memory.pinned_bytes);
  CHECK(ranking_statistics.batches > 1);

  GpuIntersectionOptions method_options;
  method_options.memory = options.memory;
  GpuIntersection gpu(index, all_gpu_intersection_methods().front(), method_options, progress);
  const Intersection cpu(index, all_intersection_methods().front(), {});
  const ParsedQueries read = read_all(cpu, texts);
  Intersection::WorkSpace space;
  GpuIntersectionStatistics intersection_statistics;
  std::size_t next = 0;
  gpu.run(
      read.views(),
      [&](std::size_t i, std::span<const docid_t> documents) {
        REQUIRE(i == next++);
        IntersectionAnswer answer;
        cpu.answer(read.views()[i], space, answer);
        REQUIRE(std::vector<docid_t>(documents.begin(), documents.end()) == answer.documents);
      },
      &intersection_statistics);
  CHECK(next == texts.size());
  CHECK(intersection_statistics.memory[pinned] <= *options.memory.pinned_bytes);

  options.memory.pinned_bytes = 1 << 20;
  CHECK_THROWS_AS(GpuEngine(engine, options, progress), OutOfMemory);
}

TEST_CASE("with memory for a part of the lists, GPUs intersect as the CPU does", "[gpu][gpu_store][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(71);
  IndexedCorpus corpus(73, {30000, 150, 9, false});
  const auto queries = texts_of_queries(draw_queries(7, corpus.model, 60));
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  NoProgress progress;
  GpuIntersectionStatistics all;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 2}));
    const CachePlan plan = random_plan(index, random);
    const Intersection cpu(index, all_intersection_methods().front(), {});
    const ParsedQueries read = read_all(cpu, texts);
    Intersection::WorkSpace space;
    for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
      for (const std::size_t batch : {std::size_t{5}, std::size_t{4096}}) {
        GpuIntersectionOptions options;
        options.batch_queries = batch;
        options.memory = random_memory(plan, random);
        GpuIntersection gpu(index, method, options, progress);
        for (unsigned turn = 0; turn < 2; ++turn) {
          GpuIntersectionStatistics statistics;
          gpu.run(
              read.views(),
              [&](std::size_t i, std::span<const docid_t> documents) {
                INFO(method.name << ", batches of " << batch << ", lists " << *options.memory.list_share << ", plan "
                                 << (options.memory.plan != nullptr) << ", query " << texts[i]);
                IntersectionAnswer answer;
                cpu.answer(read.views()[i], space, answer);
                REQUIRE(std::vector<docid_t>(documents.begin(), documents.end()) == answer.documents);
              },
              &statistics);
          all += statistics;
        }
      }
    }
  }
  CHECK(all.lists.copied_bytes > 0);
  CHECK(all.lists.resident_lists > 0);
  CHECK(all.lists.in_place_lists > 0);
}

}  // namespace quern
