#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "gpu/host_index.hpp"
#include "gpu/host_windows.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// The cases with which strategies are tested on the emulated GPU. Each check gets an engine, queries and random bits.
namespace quern::testing {

using QueryWords = std::vector<std::vector<std::string>>;

/// Over every codec and several sizes of blocks, with exact scores and some with quantized ones.
template <class Check>
void check_every_codec(const Check& check) {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const QueryWords queries = draw_queries(3, corpus.model, 9);
  RandomBits random(5);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{64, 2}, CodecOptions{256, 1}}) {
      check_coding(corpus, coded(*codec, coding, coding.block_size == 64 ? 8 : 0),
                   [&](const QueryEngine& engine) { check(engine, queries, random); });
    }
  }
}

/// Over documents in the order of global scores, which may end queries within fronts of lists.
template <class Check>
void check_fronts_by_global_scores(std::uint64_t seed, const Check& check) {
  RankedPages pages(seed, {400, 60, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const QueryWords queries = draw_queries(17, ModelIndex(pages.documents, order.documents), 20);
    const IndexReader index = pages.index(order, alpha, blocks_of(8));
    for (unsigned turn = 0; turn < 4; ++turn) check(QueryEngine(index, with_pagerank(alpha)), queries);
  }
}

/// With threads in `seeds` random orders.
template <class Check>
void check_thread_orders(std::size_t num_queries, std::uint64_t seeds, const Check& check) {
  IndexedCorpus corpus(33, {600, 80, 20, false});
  const QueryWords queries = draw_queries(5, corpus.model, num_queries);
  RandomBits random(7);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const emulated::RandomOrder order(seed);
    INFO("order " << seed);
    const IndexReader index = corpus.index(coded(*all_codecs()[seed % all_codecs().size()], {16, 1}));
    check(QueryEngine(index, {}), queries, random);
  }
}

/// Over three ranges of documents and every codec, alternating exact and quantized scores.
template <class Check>
void check_three_ranges(std::size_t num_queries, const Check& check) {
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const QueryWords queries = draw_queries(7, corpus.model, num_queries);
  RandomBits random(53);
  bool quantized = false;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, codec->name == "rpfd" ? 2u : 1u}, 8));
    INFO(codec->name << ", quantized " << quantized);
    check(QueryEngine(index, with_scores(quantized ? Scores::quantized : Scores::exact)), queries, random);
    quantized = !quantized;
  }
}

/// Over three ranges of documents in the order of global scores, which end queries early. Returns the check's result.
template <class Check>
auto check_global_scores(std::size_t num_queries, const Check& check) {
  RankedPages pages(29, {33000, 60, 4, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.9);
  const QueryWords queries = draw_queries(3, ModelIndex(pages.documents, order.documents), num_queries);
  const IndexReader index = pages.index(order, 0.9, blocks_of(64));
  RandomBits random(5);
  return check(QueryEngine(index, with_pagerank(0.9)), queries, random);
}

/// Runs a strategy over damaged lists, whole and by windows. `find_for(batch, way)` returns its kernels. Some damage
/// must be found; sanitizers check the rest.
template <class Ways, class FindFor>
void check_damaged(std::size_t num_queries, const Ways& ways, const FindFor& find_for) {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const QueryWords queries = draw_queries(9, corpus.model, num_queries);
  RandomBits random(51);
  std::uint32_t found = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 1}, 8));
    const QueryEngine engine(index, {});
    for (const auto& way : ways) {
      for (const bool windows : {false, true}) {
        HostIndex damaged(engine);
        damaged.damage(random);
        BatchQueries asked;
        const gpu::QueryBatch batch = batch_of(engine, queries, way.intersect(), 10, asked);
        HostBatchView host(batch, 10);
        const FindInWindow find = find_for(batch, way);
        if (windows)
          run_windows(damaged, batch, host, random, find);
        else
          find(damaged, host.view, batch.lists);
        found += damaged.damaged();
      }
    }
  }
  CHECK(found > 0);
}

}  // namespace quern::testing
