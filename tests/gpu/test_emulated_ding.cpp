#include "gpu/emulated_gpu.hpp"
#include "gpu/every_strategy.hpp"
//
#include <algorithm>

#include "quern/gpu/papers/ding/ding_terms.cuh"
#include "quern/gpu/papers/ding/ding_view.cuh"

#include "catch.hpp"

/// The kernels of the strategy `ding`, run by an emulated GPU in the order in which DingRun launches them, give the
/// CPU's results.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

constexpr unsigned thread_blocks = 2;

/// The memory of a pass.
struct HostLeaves {
  HostLeaves(const gpu::PassPlan& plan, bool intersect)
      : leaves(plan.leaves, 7), nodes(plan.nodes, 8), tops(plan.tops, 9), docids(intersect ? plan.leaves : 0, 10) {}

  std::vector<std::int32_t> leaves, nodes, tops;
  std::vector<std::uint32_t> docids;
};

template <Coding coding, int V, bool quantized>
void score_wave(const gpu::IndexView& index, const gpu::BatchView& view, const gpu::DingTile& tile, bool intersect) {
  std::uint32_t terms = 0;
  for (std::uint32_t i = 0; i < tile.num_queries; ++i)
    terms = std::max(terms, view.queries[tile.first_query + i].terms);
  const auto run = [](const std::function<void()>& kernel) {
    emulated::run(thread_blocks, gpu::plain_threads, kernel);
  };
  if (intersect) run([&] { gpu::take_shortest<coding, V, quantized>(index, view, tile); });
  for (std::uint32_t t = intersect ? 1 : 0; t < terms; ++t) {
    if (intersect)
      run([&] { gpu::intersect_term<coding, V, quantized>(index, view, tile, t); });
    else
      run([&] { gpu::add_term<coding, V, quantized>(index, view, tile, t); });
  }
  run([&] { gpu::make_nodes(tile); });
}

/// `max_leaves`: the maximum number at a time.
void run_view(const HostIndex& index, const gpu::QueryBatch& batch, const gpu::BatchView& view,
              std::span<const gpu::ListView> lists, bool intersect, std::uint64_t max_leaves) {
  const std::uint32_t documents = std::min(view.end_docid, index.view.num_documents) - view.first_docid;
  const gpu::PassPlan plan = gpu::plan_passes(batch, lists, intersect, documents, max_leaves);
  HostLeaves memory(plan, intersect);
  gpu::DingTile all;
  all.leaves = memory.leaves.data();
  all.docids = intersect ? memory.docids.data() : nullptr;
  all.nodes = memory.nodes.data();
  all.tops = memory.tops.data();
  const auto queries_of = [&](std::uint32_t first, std::uint32_t count) {
    gpu::DingTile tile = all;
    tile.queries = plan.queries.data() + first;
    tile.first_query = first;
    tile.num_queries = count;
    return tile;
  };
  for (const gpu::PassPlan::Pass& pass : plan.passes) {
    std::fill_n(memory.leaves.begin(), pass.leaves, gpu::no_score);
    const std::uint32_t end = pass.first_query + pass.num_queries;
    for (std::uint32_t first = pass.first_query; first < end; first += gpu::max_tile_queries) {
      const gpu::DingTile tile = queries_of(first, std::min(gpu::max_tile_queries, end - first));
      gpu::with_coding(index.coding(), [&]<Coding coding>() {
        gpu::with_variant(index.view, index.engine().quantizer() != nullptr, [&]<int V, bool quantized>() {
          score_wave<coding, V, quantized>(index.view, view, tile, intersect);
        });
      });
    }
    emulated::run(pass.num_queries, gpu::plain_threads,
                  [&] { gpu::take_results(view, queries_of(pass.first_query, pass.num_queries)); });
  }
}

struct Way {
  bool with_all_terms = false;
  bool intersect() const { return with_all_terms; }
};
constexpr Way all_ways[] = {{false}, {true}};

void check_results(const HostBatchView& host, const QueryEngine& engine, const std::vector<std::string>& texts,
                   bool intersect, std::size_t k) {
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO((intersect ? "and" : "or") << ", k " << k << ", query " << texts[i]);
    require_same(host.results(i),
                 engine.search(terms_of_text(texts[i], analyzer), algorithm_named(intersect ? "and" : "or"), k));
  }
}

void check_ding(const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
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

/// Runs window by window; returns the number of queries that ended early.
std::size_t check_windows(const QueryEngine& engine, const QueryWords& queries, std::size_t k, RandomBits& random) {
  std::size_t ended = 0;
  for (const bool intersect : {false, true}) {
    HostIndex index(engine);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, intersect, k, asked);
    HostBatchView host(batch, k);
    ended +=
        run_windows(index, batch, host, random,
                    [&](const HostIndex& host_index, const gpu::BatchView& view, std::span<const gpu::ListView> lists) {
                      run_view(host_index, batch, view, lists, intersect, 40000);
                    });
    REQUIRE(index.damaged() == 0);
    check_results(host, engine, asked.texts, intersect, k);
  }
  return ended;
}

}  // namespace

TEST_CASE("emulated tiles give the CPU's results over every codec", "[gpu_emulated][ding][property]") {
  check_every_codec(check_ding);
}

TEST_CASE("emulated tiles give the CPU's results whatever the order of threads", "[gpu_emulated][ding][property]") {
  check_thread_orders(40, 2, check_ding);  // more than a tile
}

TEST_CASE("emulated tiles give the CPU's results window by window", "[gpu_emulated][gpu_store][ding][property]") {
  check_three_ranges(5, [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    check_windows(engine, queries, 20, random);
  });
}

TEST_CASE("emulated tiles give the CPU's results with PageRank, and end with a window",
          "[gpu_emulated][gpu_store][ding]") {
  const auto check = [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    return check_windows(engine, queries, 1, random);
  };
  CHECK(check_global_scores(5, check) > 0);
}

TEST_CASE("emulated tiles stay within bounds over damaged lists and windows", "[gpu_emulated][gpu_store][ding]") {
  check_damaged(3, all_ways, [](const gpu::QueryBatch& batch, const Way& way) -> FindInWindow {
    return [&](const HostIndex& host_index, const gpu::BatchView& view, std::span<const gpu::ListView> lists) {
      run_view(host_index, batch, view, lists, way.intersect(), 1 << 20);
    };
  });
}

}  // namespace quern
