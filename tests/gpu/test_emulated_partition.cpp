#include "gpu/emulated_gpu.hpp"
#include "gpu/host_index.hpp"
#include "gpu/host_windows.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <algorithm>
#include <cstring>

#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/partition/partition_block.cuh"

#include "catch.hpp"
#include "pipeline/query_checks.hpp"
#include "pipeline/ranked_pages.hpp"

/// The source of the strategy `partition`, run by an emulated GPU, gives the CPU's results.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;
using gpu::PartitionMethod;

constexpr unsigned partitions = 64, thread_blocks = 2;

template <Coding coding, bool quantized>
void run_blocks(const gpu::IndexView& index, const gpu::BatchView& batch, gpu::PartitionWork work) {
  static gpu::PartitionShared shared;
  std::memset(&shared, 0xcd, sizeof shared);  // as a GPU, which does not initialise it
  std::vector<std::uint32_t> buffer(thread_blocks * work.layout.words, 0xcdcdcdcd);
  work.buffer = buffer.data();
  emulated::run(thread_blocks, partitions,
                [&] { gpu::PartitionBlock<coding, quantized>(index, batch, work, shared).run(); });
}

/// The methods, and the CPU's algorithms with the same results.
struct Way {
  PartitionMethod method;
  const char* algorithm;

  bool intersect() const { return method == PartitionMethod::intersect; }
};
constexpr Way all_ways[] = {{PartitionMethod::intersect, "and"},
                            {PartitionMethod::unite, "or"},
                            {PartitionMethod::wand, "wand"},
                            {PartitionMethod::block_max_wand, "bmw"}};

void run_view(const HostIndex& index, const gpu::QueryBatch& batch, const gpu::BatchView& view,
              PartitionMethod method) {
  const bool quantized = index.engine().quantizer() != nullptr;
  std::uint32_t terms = 0;
  for (const gpu::BatchQuery& query : batch.queries) terms = std::max(terms, query.terms);
  gpu::PartitionWork work;
  work.method = method;
  work.max_static_score = batch.max_static_score();
  const std::uint32_t nested = rpfd::arrays_of(index.view.recursion) * index.view.block_size;
  work.layout = gpu::PartitionLayout(partitions, terms, method, view.k, index.view.block_size, !quantized, nested);
  gpu::with_coding(index.coding(), [&]<Coding coding>() {
    if (quantized)
      run_blocks<gpu::serial_coding(coding), true>(index.view, view, work);
    else
      run_blocks<gpu::serial_coding(coding), false>(index.view, view, work);
  });
}

void check_results(const HostBatchView& host, const QueryEngine& engine, const std::vector<std::string>& texts,
                   const Way& way, std::size_t k) {
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(way.algorithm << ", k " << k << ", query " << texts[i]);
    require_same(host.results(i), engine.search(texts[i], algorithm_named(way.algorithm), k, analyzer));
  }
}

void check_partition(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                     RandomBits& random) {
  for (const Way& way : all_ways) {
    for (const std::size_t k : {1, 7, 300}) {
      HostIndex index(engine);
      BatchQueries asked;
      gpu::QueryBatch batch = batch_of(engine, queries, way.intersect(), k, asked);
      if (k == 7) index.move_lists(batch, random);
      HostBatchView host(batch, k);
      run_view(index, batch, host.view, way.method);
      REQUIRE(index.damaged() == 0);
      check_results(host, engine, asked.texts, way, k);
    }
  }
}

/// Window by window; returns how many queries ended early.
std::size_t check_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                          std::size_t k, RandomBits& random, std::span<const Way> ways = all_ways) {
  std::size_t ended = 0;
  for (const Way& way : ways) {
    HostIndex index(engine);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, way.intersect(), k, asked);
    HostBatchView host(batch, k);
    ended += run_windows(index, batch, host, random,
                         [&](const HostIndex& of, const gpu::BatchView& view, std::span<const gpu::ListView>) {
                           run_view(of, batch, view, way.method);
                         });
    REQUIRE(index.damaged() == 0);
    check_results(host, engine, asked.texts, way, k);
  }
  return ended;
}

}  // namespace

TEST_CASE("emulated partitions give the CPU's results over every codec", "[gpu_emulated][partition][property]") {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  RandomBits random(5);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{64, 2}, CodecOptions{256, 1}}) {
      const BuildOptions options = coded(*codec, coding, coding.block_size == 64 ? 8 : 0);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      check_partition(QueryEngine(index, {}), queries, random);
      if (options.quantize_bits == 0) continue;
      ScoringOptions scoring;
      scoring.scores = Scores::quantized;
      check_partition(QueryEngine(index, scoring), queries, random);
    }
  }
}

TEST_CASE("emulated partitions give the CPU's results whatever the order of threads",
          "[gpu_emulated][partition][property]") {
  IndexedCorpus corpus(33, {600, 80, 20, false});
  const auto queries = draw_queries(5, corpus.model, 6);
  RandomBits random(7);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const emulated::RandomOrder order(seed);
    INFO("order " << seed);
    const IndexReader index = corpus.index(coded(*all_codecs()[seed % all_codecs().size()], {16, 1}));
    check_partition(QueryEngine(index, {}), queries, random);
  }
}

TEST_CASE("emulated partitions give the CPU's results window by window",
          "[gpu_emulated][gpu_store][partition][property]") {
  // Three ranges of documents.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 6);
  RandomBits random(53);
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, codec->name() == "rpfd" ? 2u : 1u}, 8));
    for (const Scores scores : {Scores::exact, Scores::quantized}) {
      ScoringOptions scoring;
      scoring.scores = scores;
      INFO(codec->name() << ", quantized " << (scores == Scores::quantized));
      check_windows(QueryEngine(index, scoring), queries, scores == Scores::exact ? 7 : 300, random);
    }
  }
}

TEST_CASE("emulated partitions intersect windows of which lists have few blocks",
          "[gpu_emulated][gpu_store][partition]") {
  IndexedCorpus corpus(61, {33000, 300, 4, false});
  const auto queries = draw_queries(11, corpus.model, 80);
  RandomBits random(3);
  for (const unsigned block_size : {2u, 4u, 16u}) {
    const IndexReader index = corpus.index(blocks_of(block_size));
    check_windows(QueryEngine(index, {}), queries, 10, random, std::span(all_ways).first(1));
  }
}

TEST_CASE("emulated partitions give the CPU's results with PageRank, and end with a window",
          "[gpu_emulated][gpu_store][partition]") {
  RankedPages pages(29, {33000, 60, 4, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.9);
  const auto queries = draw_queries(3, ModelIndex(pages.documents, order.documents), 6);
  const IndexReader index = pages.index(order, 0.9, blocks_of(64));
  RandomBits random(5);
  CHECK(check_windows(QueryEngine(index, with_pagerank(0.9)), queries, 1, random) > 0);
}

TEST_CASE("emulated partitions stay within bounds over damaged lists and windows",
          "[gpu_emulated][gpu_store][partition]") {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const auto queries = draw_queries(9, corpus.model, 4);
  RandomBits random(51);
  std::uint32_t found = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 1}, 8));
    const QueryEngine engine(index, {});
    for (const Way& way : all_ways) {
      for (const bool windows : {false, true}) {
        HostIndex damaged(engine);
        damaged.damage(random);
        BatchQueries asked;
        const gpu::QueryBatch batch = batch_of(engine, queries, way.intersect(), 10, asked);
        HostBatchView host(batch, 10);
        const auto run = [&](const HostIndex& of, const gpu::BatchView& view, std::span<const gpu::ListView>) {
          run_view(of, batch, view, way.method);
        };
        if (windows)
          run_windows(damaged, batch, host, random, run);
        else
          run(damaged, host.view, batch.lists);
        found += damaged.damaged();
      }
    }
  }
  CHECK(found > 0);
}

}  // namespace quern
