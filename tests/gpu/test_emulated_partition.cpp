#include "gpu/emulated_gpu.hpp"
#include "gpu/every_strategy.hpp"
//
#include <algorithm>
#include <cstring>

#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/papers/partition/partition_block.cuh"

#include "catch.hpp"

/// The kernels of the strategy `partition`, run by an emulated GPU, give the CPU's results.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;
using gpu::PartitionMethod;

constexpr unsigned partitions = 64, thread_blocks = 2;

template <Coding coding, bool quantized>
void run_blocks(const gpu::IndexView& index, const gpu::BatchView& batch, gpu::PartitionWork work) {
  static gpu::PartitionShared shared;
  std::memset(&shared, 0xcd, sizeof shared);  // uninitialised, as on a GPU
  std::vector<std::uint32_t> buffer(thread_blocks * work.layout.words, 0xcdcdcdcd);
  work.buffer = buffer.data();
  unsigned long long cycles[gpu::partition_stages] = {};
  work.stage_cycles = cycles;
  emulated::run(thread_blocks, partitions,
                [&] { gpu::PartitionBlock<coding, quantized>(index, batch, work, shared).run(); });
  if (batch.num_queries > 0) CHECK(cycles[2] > 0);
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
    require_same(host.results(i), engine.search(terms_of_text(texts[i], analyzer), algorithm_named(way.algorithm), k));
  }
}

void check_partition(const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
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

/// Runs window by window; returns the number of queries that ended early.
std::size_t check_windows(const QueryEngine& engine, const QueryWords& queries, std::size_t k, RandomBits& random,
                          std::span<const Way> ways = all_ways) {
  std::size_t ended = 0;
  for (const Way& way : ways) {
    HostIndex index(engine);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, way.intersect(), k, asked);
    HostBatchView host(batch, k);
    ended += run_windows(index, batch, host, random,
                         [&](const HostIndex& host_index, const gpu::BatchView& view, std::span<const gpu::ListView>) {
                           run_view(host_index, batch, view, way.method);
                         });
    REQUIRE(index.damaged() == 0);
    check_results(host, engine, asked.texts, way, k);
  }
  return ended;
}

}  // namespace

TEST_CASE("emulated partitions give the CPU's results over every codec", "[gpu_emulated][partition][property]") {
  check_every_codec(check_partition);
}

TEST_CASE("emulated partitions give the CPU's results for any order of threads",
          "[gpu_emulated][partition][property]") {
  check_thread_orders(6, 3, check_partition);
}

TEST_CASE("emulated partitions give the CPU's results window by window",
          "[gpu_emulated][gpu_store][partition][property]") {
  check_three_ranges(6, [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    check_windows(engine, queries, engine.quantizer() == nullptr ? 7 : 300, random);
  });
}

TEST_CASE("emulated partitions intersect windows with few blocks of each list",
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
  const auto check = [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    return check_windows(engine, queries, 1, random);
  };
  CHECK(check_global_scores(6, check) > 0);
}

TEST_CASE("emulated partitions stay within bounds over damaged lists and windows",
          "[gpu_emulated][gpu_store][partition]") {
  check_damaged(4, all_ways, [](const gpu::QueryBatch& batch, const Way& way) -> FindInWindow {
    return [&](const HostIndex& host_index, const gpu::BatchView& view, std::span<const gpu::ListView>) {
      run_view(host_index, batch, view, way.method);
    };
  });
}

}  // namespace quern
