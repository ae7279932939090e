#include "gpu/emulated_gpu.hpp"
#include "gpu/host_index.hpp"
#include "gpu/host_windows.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <algorithm>

#include "quern/gpu/ding/ding_terms.cuh"
#include "quern/gpu/ding/max_tree.cuh"

#include "catch.hpp"
#include "pipeline/query_checks.hpp"
#include "pipeline/ranked_pages.hpp"

/// The sources of the kernels of the strategy `ding`, run by an emulated GPU in the steps in which DingRun launches
/// them, give the CPU's results.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

constexpr unsigned thread_blocks = 2;

/// The memory of a round.
struct HostLeaves {
  HostLeaves(const gpu::RoundPlan& plan, bool intersect)
      : leaves(plan.leaves, 7), nodes(plan.nodes, 8), tops(plan.tops, 9), docids(intersect ? plan.leaves : 0, 10) {}

  std::vector<std::int32_t> leaves, nodes, tops;
  std::vector<std::uint32_t> docids;
};

template <Coding coding, int V, bool quantized>
void score_wave(const gpu::IndexView& index, const gpu::BatchView& view, const gpu::Wave& wave, bool intersect) {
  std::uint32_t terms = 0;
  for (std::uint32_t i = 0; i < wave.num_queries; ++i)
    terms = std::max(terms, view.queries[wave.first_query + i].terms);
  const auto run = [](const std::function<void()>& kernel) {
    emulated::run(thread_blocks, gpu::plain_threads, kernel);
  };
  if (intersect) run([&] { gpu::take_shortest<coding, V, quantized>(index, view, wave); });
  for (std::uint32_t t = intersect ? 1 : 0; t < terms; ++t) {
    if (intersect)
      run([&] { gpu::intersect_term<coding, V, quantized>(index, view, wave, t); });
    else
      run([&] { gpu::add_term<coding, V, quantized>(index, view, wave, t); });
  }
  run([&] { gpu::make_nodes(wave); });
}

/// `max_leaves`: at a time.
void run_view(const HostIndex& index, const gpu::QueryBatch& batch, const gpu::BatchView& view,
              std::span<const gpu::ListView> lists, bool intersect, std::uint64_t max_leaves) {
  const std::uint32_t documents = std::min(view.end_docid, index.view.num_documents) - view.first_docid;
  const gpu::RoundPlan plan = gpu::plan_rounds(batch, lists, intersect, documents, max_leaves);
  HostLeaves memory(plan, intersect);
  gpu::Wave all;
  all.leaves = memory.leaves.data();
  all.docids = intersect ? memory.docids.data() : nullptr;
  all.nodes = memory.nodes.data();
  all.tops = memory.tops.data();
  const auto queries_of = [&](std::uint32_t first, std::uint32_t count) {
    gpu::Wave wave = all;
    wave.queries = plan.queries.data() + first;
    wave.first_query = first;
    wave.num_queries = count;
    return wave;
  };
  for (const gpu::RoundPlan::Round& round : plan.rounds) {
    std::fill_n(memory.leaves.begin(), round.leaves, gpu::no_score);
    const std::uint32_t end = round.first_query + round.num_queries;
    for (std::uint32_t first = round.first_query; first < end; first += gpu::wave_queries) {
      const gpu::Wave wave = queries_of(first, std::min(gpu::wave_queries, end - first));
      gpu::with_coding(index.coding(), [&]<Coding coding>() {
        gpu::with_variant(index.view, index.engine().quantizer() != nullptr, [&]<int V, bool quantized>() {
          score_wave<coding, V, quantized>(index.view, view, wave, intersect);
        });
      });
    }
    emulated::run(round.num_queries, gpu::plain_threads,
                  [&] { gpu::take_results(view, queries_of(round.first_query, round.num_queries)); });
  }
}

void check_results(const HostBatchView& host, const QueryEngine& engine, const std::vector<std::string>& texts,
                   bool intersect, std::size_t k) {
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO((intersect ? "and" : "or") << ", k " << k << ", query " << texts[i]);
    require_same(host.results(i), engine.search(texts[i], algorithm_named(intersect ? "and" : "or"), k, analyzer));
  }
}

void check_ding(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries, RandomBits& random) {
  for (const bool intersect : {false, true}) {
    for (const std::size_t k : {1, 50}) {
      HostIndex index(engine);
      BatchQueries asked;
      gpu::QueryBatch batch = batch_of(engine, queries, intersect, k, asked);
      if (k == 1) index.move_lists(batch, random);
      HostBatchView host(batch, k);
      run_view(index, batch, host.view, batch.lists, intersect, k == 1 ? 1 : 1 << 20);
      REQUIRE(index.damaged() == 0);
      check_results(host, engine, asked.texts, intersect, k);
    }
  }
}

/// Window by window; returns how many queries ended early.
std::size_t check_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                          std::size_t k, RandomBits& random) {
  std::size_t ended = 0;
  for (const bool intersect : {false, true}) {
    HostIndex index(engine);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, intersect, k, asked);
    HostBatchView host(batch, k);
    ended += run_windows(index, batch, host, random,
                         [&](const HostIndex& of, const gpu::BatchView& view, std::span<const gpu::ListView> lists) {
                           run_view(of, batch, view, lists, intersect, 40000);
                         });
    REQUIRE(index.damaged() == 0);
    check_results(host, engine, asked.texts, intersect, k);
  }
  return ended;
}

}  // namespace

TEST_CASE("emulated waves give the CPU's results over every codec", "[gpu_emulated][ding][property]") {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  RandomBits random(5);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{64, 2}, CodecOptions{256, 1}}) {
      const BuildOptions options = coded(*codec, coding, coding.block_size == 64 ? 8 : 0);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      check_ding(QueryEngine(index, {}), queries, random);
      if (options.quantize_bits == 0) continue;
      ScoringOptions scoring;
      scoring.scores = Scores::quantized;
      check_ding(QueryEngine(index, scoring), queries, random);
    }
  }
}

TEST_CASE("emulated waves give the CPU's results whatever the order of threads", "[gpu_emulated][ding][property]") {
  IndexedCorpus corpus(33, {600, 80, 20, false});
  const auto queries = draw_queries(5, corpus.model, 40);  // more than a wave
  RandomBits random(7);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const emulated::RandomOrder order(seed);
    INFO("order " << seed);
    const IndexReader index = corpus.index(coded(*all_codecs()[seed % all_codecs().size()], {16, 1}));
    check_ding(QueryEngine(index, {}), queries, random);
  }
}

TEST_CASE("emulated waves give the CPU's results window by window", "[gpu_emulated][gpu_store][ding][property]") {
  // Three ranges of documents.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 5);
  RandomBits random(53);
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, codec->name() == "rpfd" ? 2u : 1u}, 8));
    ScoringOptions scoring;
    if (codec->name() != "rice") scoring.scores = Scores::quantized;
    INFO(codec->name());
    check_windows(QueryEngine(index, scoring), queries, 20, random);
  }
}

TEST_CASE("emulated waves give the CPU's results with PageRank, and end with a window",
          "[gpu_emulated][gpu_store][ding]") {
  RankedPages pages(29, {33000, 60, 4, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.9);
  const auto queries = draw_queries(3, ModelIndex(pages.documents, order.documents), 5);
  const IndexReader index = pages.index(order, 0.9, blocks_of(64));
  RandomBits random(5);
  CHECK(check_windows(QueryEngine(index, with_pagerank(0.9)), queries, 1, random) > 0);
}

TEST_CASE("emulated waves stay within bounds over damaged lists and windows", "[gpu_emulated][gpu_store][ding]") {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const auto queries = draw_queries(9, corpus.model, 3);
  RandomBits random(51);
  std::uint32_t found = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 1}, 8));
    const QueryEngine engine(index, {});
    for (const bool intersect : {false, true}) {
      for (const bool windows : {false, true}) {
        HostIndex damaged(engine);
        damaged.damage(random);
        BatchQueries asked;
        const gpu::QueryBatch batch = batch_of(engine, queries, intersect, 10, asked);
        HostBatchView host(batch, 10);
        const auto run = [&](const HostIndex& of, const gpu::BatchView& view, std::span<const gpu::ListView> lists) {
          run_view(of, batch, view, lists, intersect, 1 << 20);
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
