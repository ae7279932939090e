#include "gpu/emulated_gpu.hpp"
//
#include "gpu/cut_batch.hpp"
#include "gpu/every_strategy.hpp"
//
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/papers/wang/wang_block.cuh"

#include "catch.hpp"

/// The kernels of the strategy `wang`, run by an emulated GPU, give the CPU's results, and stop as early as Algorithm 1
/// of Wang et al. does.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

/// Fewer documents per round than on a GPU, so that short lists have many rounds.
constexpr unsigned few_threads = 64;

template <Coding coding, int V, bool quantized>
void run_blocks(const gpu::IndexView& index, const gpu::BatchView& batch, unsigned threads) {
  std::vector<gpu::ListSegments> lists;
  std::vector<std::uint32_t> starts(gpu::cut_rows(std::span(batch.lists, batch.num_lists), index.num_documents, lists),
                                    0xcdcdcdcd);
  const gpu::BatchSegments segments{lists.data(), starts.data(), starts.size()};
  emulated::run(2, few_threads, [&] { gpu::write_starts(index, batch, segments); });
  // Uninitialised, as on a GPU.
  std::vector<gpu::RankKey> memory(gpu::WangShared<V>::bytes(batch.k, threads) / sizeof(gpu::RankKey) + 1,
                                   0xcdcdcdcdcdcdcdcd);
  emulated::run(2, threads, [&] {
    const gpu::WangShared<V> shared(memory.data(), batch.k);
    gpu::WangBlock<coding, V, quantized>(index, batch, segments, shared).run();
  });
}

void run_view(const HostIndex& index, const gpu::BatchView& view, unsigned threads = few_threads) {
  gpu::with_coding(index.coding(), [&]<Coding coding>() {
    gpu::with_variant(index.view, index.engine().quantizer() != nullptr,
                      [&]<int V, bool quantized>() { run_blocks<coding, V, quantized>(index.view, view, threads); });
  });
}
void run_wang(const HostIndex& index, HostBatchView& batch) { run_view(index, batch.view); }

using RunWang = std::function<void(const HostIndex&, HostBatchView&)>;

/// Runs a batch and compares it with the CPU's `and`.
void check_batch(const HostIndex& index, const gpu::QueryBatch& batch, const std::vector<std::string>& texts,
                 std::size_t k, const RunWang& run) {
  HostBatchView host(batch, k);
  run(index, host);
  REQUIRE(index.damaged() == 0);
  const QueryEngine& engine = index.engine();
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO("k " << k << ", query " << texts[i]);
    require_same(host.results(i), engine.search(terms_of_text(texts[i], analyzer), algorithm_named("and"), k));
  }
}

void check_k(const HostIndex& index, const QueryWords& queries, std::size_t k, const RunWang& run = run_wang) {
  BatchQueries asked;
  const gpu::QueryBatch batch = batch_of(index.engine(), queries, true, k, asked);
  check_batch(index, batch, asked.texts, k, run);
}

/// Runs a batch with lists in arenas and in parts.
void check_moved_lists(const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
  HostIndex index(engine);
  BatchQueries asked;
  gpu::QueryBatch batch = batch_of(engine, queries, true, 10, asked);
  index.move_lists(batch, random);
  check_batch(index, batch, asked.texts, 10, run_wang);
}

/// Runs a batch with only random fronts of most lists, after which the CPU continues.
void check_fronts(const QueryEngine& engine, const QueryWords& queries, RandomBits& random, QueryEnds& ends) {
  for (const std::size_t k : {1, 7, 300}) {
    HostIndex index(engine);
    CutBatch cut(index, queries, k, random);
    HostBatchView host(cut.batch(), k);
    run_wang(index, host);
    REQUIRE(index.damaged() == 0);
    cut.check(host, ends);
  }
}

void check_wang(const QueryEngine& engine, const QueryWords& queries) {
  const HostIndex index(engine);
  for (const std::size_t k : {1, 7, 300}) check_k(index, queries, k);
  RandomBits random(queries.size());
  check_moved_lists(engine, queries, random);
}

void find_in_window(const HostIndex& index, const gpu::BatchView& view, std::span<const gpu::ListView>) {
  run_view(index, view);
}

/// Runs window by window; returns the number of queries that ended early.
std::size_t check_windows(const QueryEngine& engine, const QueryWords& queries, std::size_t k, RandomBits& random) {
  HostIndex index(engine);
  BatchQueries asked;
  const gpu::QueryBatch batch = batch_of(engine, queries, true, k, asked);
  std::size_t ended = 0;
  check_batch(index, batch, asked.texts, k, [&](const HostIndex&, HostBatchView& host) {
    ended = run_windows(index, batch, host, random, find_in_window);
  });
  return ended;
}

/// The documents of a query's shortest list, in order.
std::vector<docid_t> shortest_list(const IndexReader& index, std::span<const WeightedList> lists) {
  std::vector<docid_t> documents;
  BlockReader reader(index, lists.front().list);
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    documents.insert(documents.end(), reader.docids().begin(), reader.docids().end());
  }
  return documents;
}

bool ranks_before(const ScoredDocument& a, const ScoredDocument& b) {
  return a.score != b.score ? a.score > b.score : a.docid < b.docid;
}

/// Algorithm 1, given all documents with all terms: the best of those that it reads before it stops.
std::vector<ScoredDocument> algorithm_1(std::vector<ScoredDocument> all, const std::vector<docid_t>& shortest,
                                        const std::vector<float>& upper_bounds, std::size_t k, bool& early) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.docid < b.docid; });
  std::vector<ScoredDocument> best;
  auto next = all.begin();
  for (std::size_t first = 0; first < shortest.size(); first += few_threads) {
    early = best.size() == k && upper_bounds[shortest[first]] <= best.back().score;
    if (early) break;
    const docid_t last = shortest[std::min(first + few_threads, shortest.size()) - 1];
    for (; next != all.end() && next->docid <= last; ++next) best.push_back(*next);
    std::sort(best.begin(), best.end(), ranks_before);
    best.resize(std::min(best.size(), k));
  }
  return best;
}

/// Descending bounds that are scores of documents, so that some equal a query's worst result.
std::vector<float> falling_bounds(const std::vector<ScoredDocument>& scored, std::uint32_t num_documents,
                                  std::mt19937& random) {
  std::vector<float> bounds(num_documents);
  for (float& bound : bounds) bound = scored.empty() ? 0 : scored[random() % scored.size()].score;
  std::sort(bounds.begin(), bounds.end(), std::greater<>());
  return bounds;
}

}  // namespace

TEST_CASE("emulated rounds give the CPU's results over every codec", "[gpu_emulated][wang][property]") {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 12);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding :
         {CodecOptions{8, 1}, CodecOptions{64, 2}, CodecOptions{256, 1}, CodecOptions{512, 2}}) {
      if (coding.recursion != 1 && codec->name != "rpfd" && coding.block_size == 512) continue;
      check_coding(corpus, coded(*codec, coding, coding.block_size <= 64 ? 8 : 0),
                   [&](const QueryEngine& engine) { check_wang(engine, queries); });
    }
  }
}

TEST_CASE("emulated rounds over fronts of lists give the CPU's results after it resumes the queries",
          "[gpu_emulated][gpu_store][wang][property]") {
  RandomBits random(83);
  IndexedCorpus corpus(83, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 20);
  QueryEnds plain;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {8, 2}, 8));
    for (const Scores scores : {Scores::exact, Scores::quantized})
      check_fronts(QueryEngine(index, with_scores(scores)), queries, random, plain);
  }
  CHECK(plain.whole > 20);
  CHECK(plain.resumed > 100);

  QueryEnds early;
  check_fronts_by_global_scores(89, [&](const QueryEngine& engine, const QueryWords& page_queries) {
    check_fronts(engine, page_queries, random, early);
  });
  CHECK(early.ended_on_front > 50);
  CHECK(early.resumed > 20);
}

TEST_CASE("emulated rounds give the CPU's results for any order of threads", "[gpu_emulated][wang][property]") {
  check_thread_orders(
      8, 3, [](const QueryEngine& engine, const QueryWords& queries, RandomBits&) { check_wang(engine, queries); });
}

TEST_CASE("emulated rounds of any size give the CPU's results", "[gpu_emulated][wang]") {
  IndexedCorpus corpus(43, {1200, 90, 24, false});
  const auto queries = draw_queries(7, corpus.model, 10);
  const IndexReader index = corpus.index(blocks_of(64));
  const QueryEngine engine(index, {});
  for (const unsigned threads : {32u, 96u, gpu::StrategyOptions().round, gpu::max_block_threads})
    for (const std::size_t k : {1, 10, 2048})
      check_k(HostIndex(engine), queries, k,
              [&](const HostIndex& host, HostBatchView& batch) { run_view(host, batch.view, threads); });
}

TEST_CASE("emulated rounds answer queries of 64 terms", "[gpu_emulated][wang]") {
  IndexedCorpus corpus(59, {200, 90, 4000, false});
  const IndexReader index = corpus.index(blocks_of(8));
  const QueryEngine engine(index, {});
  const std::vector<std::string> terms = corpus.terms(64);
  REQUIRE(terms.size() == 64);
  Analyzer analyzer = engine.make_analyzer();
  CHECK(engine.search(terms_of_text(text_of(terms), analyzer), algorithm_named("and"), 10).size() == 10);
  check_wang(engine, {terms, {terms.begin(), terms.begin() + 20}});
}

TEST_CASE("emulated rounds give the CPU's results with PageRank, ended early or not",
          "[gpu_emulated][wang][property]") {
  RankedPages pages(67, {400, 60, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    for (const OrderBy by : {OrderBy::score, OrderBy::natural}) {
      const DocumentOrder order = pages.order(by, alpha);
      const auto queries = draw_queries(17, ModelIndex(pages.documents, order.documents), 14);
      for (const unsigned block_size : {8u, 64u}) {
        const IndexReader index = pages.index(order, alpha, blocks_of(block_size));
        for (const bool early : {true, false}) {
          INFO("alpha " << alpha << ", order " << name_of_value(order_names, by) << ", early " << early);
          const QueryEngine engine(index, with_pagerank(alpha, early));
          CHECK((HostIndex(engine).view.upper_bounds != nullptr) == (early && by == OrderBy::score));
          check_wang(engine, queries);
        }
      }
    }
  }
}

TEST_CASE("emulated rounds stop where the upper bound of the shortest list's next document allows it",
          "[gpu_emulated][wang][property]") {
  IndexedCorpus corpus(71, {900, 40, 24, false});
  const IndexReader index = corpus.index(blocks_of(32));
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  std::mt19937 random(5);
  unsigned ended_early = 0, read_all = 0, other_results = 0;
  for (const auto& terms : draw_queries(19, corpus.model, 40)) {
    BatchQueries asked;
    for (const std::size_t k : {1, 5}) {
      const gpu::QueryBatch batch = batch_of(engine, {terms}, true, k, asked);
      if (batch.queries.empty()) continue;
      bool all_found = false, early = false;
      const auto lists = engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found);
      const auto all =
          engine.search(terms_of_text(text_of(terms), analyzer), algorithm_named("and"), index.num_documents());
      const std::vector<float> bounds = falling_bounds(all, index.num_documents(), random);
      HostIndex host(engine);
      host.view.upper_bounds = bounds.data();
      HostBatchView answers(batch, k);
      run_wang(host, answers);
      INFO("k " << k << ", query " << text_of(terms));
      const auto expected = algorithm_1(all, shortest_list(index, lists), bounds, k, early);
      require_same(answers.results(0), expected);
      ++(early ? ended_early : read_all);
      other_results += !std::equal(expected.begin(), expected.end(), all.begin());
    }
  }
  // These are not real bounds of the scores, so the results show where the kernel stopped.
  CHECK(ended_early > 10);
  CHECK(read_all > 10);
  CHECK(other_results > 3);
}

TEST_CASE("emulated rounds stay within bounds over damaged lists", "[gpu_emulated][wang]") {
  RankedPages pages(37, {400, 60, 24, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.3);
  const auto queries = draw_queries(5, ModelIndex(pages.documents, order.documents), 12);
  RandomBits random(11);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 2}, CodecOptions{256, 1}}) {
      const BuildOptions options = coded(*codec, coding);
      INFO(coding_text(options));
      const IndexReader index = pages.index(order, 0.3, options);
      const QueryEngine engine(index, with_pagerank(0.3));
      std::uint32_t found = 0;
      for (unsigned i = 0; i < 6; ++i) {
        HostIndex damaged(engine);
        damaged.damage(random);
        BatchQueries asked;
        const gpu::QueryBatch batch = batch_of(engine, queries, true, 10, asked);
        HostBatchView host(batch, 10);
        run_wang(damaged, host);  // nothing is asserted: sanitizers check accesses
        found += damaged.damaged();
      }
      CHECK(found > 0);
    }
  }
}

TEST_CASE("emulated rounds give the CPU's results window by window", "[gpu_emulated][gpu_store][wang][property]") {
  check_three_ranges(8, [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    check_windows(engine, queries, engine.quantizer() == nullptr ? 7 : 300, random);
  });
}

TEST_CASE("queries end with a window if no later document can be a result", "[gpu_emulated][gpu_store][wang]") {
  const auto check = [](const QueryEngine& engine, const QueryWords& queries, RandomBits& random) {
    std::size_t ended = 0;
    for (unsigned i = 0; i < 3; ++i) ended += check_windows(engine, queries, 1, random);
    return ended;
  };
  CHECK(check_global_scores(8, check) > 0);
}

TEST_CASE("emulated rounds stay within bounds over damaged lists without static scores, and over damaged windows",
          "[gpu_emulated][gpu_store][wang]") {
  struct Way {
    bool intersect() const { return true; }
  };
  check_damaged(5, std::array<Way, 1>(),
                [](const gpu::QueryBatch&, const Way&) -> FindInWindow { return find_in_window; });
}

TEST_CASE("an emulated thread block merges the results of windows", "[gpu_emulated][property]") {
  std::mt19937_64 random(13);
  for (unsigned turn = 0; turn < 60; ++turn) {
    const std::uint32_t k = 1 + random() % 70;
    std::vector<gpu::RankKey> all(random() % (2 * k) + 1);
    std::iota(all.begin(), all.end(), 5);
    std::shuffle(all.begin(), all.end(), random);
    const std::size_t before = std::min<std::size_t>(random() % (all.size() + 1), k);
    const std::size_t more = std::min<std::size_t>(all.size() - before, k);
    all.resize(before + more);
    std::vector<gpu::RankKey> results(all.begin(), all.begin() + before), found(all.begin() + before, all.end());
    for (auto* keys : {&all, &results, &found}) {
      for (gpu::RankKey& key : *keys) key = gpu::rank_key(static_cast<float>(key), static_cast<std::uint32_t>(key));
      std::sort(keys->begin(), keys->end());
    }
    results.resize(k), found.resize(k);
    std::uint32_t num_results = static_cast<std::uint32_t>(before), num_found = static_cast<std::uint32_t>(more);
    gpu::RankKey limit = gpu::no_key;
    std::vector<gpu::RankKey> space(2 * k);
    gpu::BatchView so_far;
    so_far.k = k;
    so_far.results = results.data();
    so_far.num_results = &num_results;
    const bool is_full = all.size() >= k;
    const float worst = is_full ? gpu::score_of_key(all[k - 1]) : 0, bound = turn % 2 == 0 ? worst : worst * 2;
    const gpu::MergedWindow merged{found.data(), &num_found, &limit, turn % 3 == 0 ? nullptr : &bound, before == 0};
    if (before == 0) num_results = 0xdeadbeef;
    const emulated::RandomOrder order(turn + 1);
    emulated::run(1, few_threads, [&] { gpu::merge_window(so_far, merged, 0, space.data()); });
    INFO("k " << k << ", " << before << " and " << more);
    REQUIRE(num_results == std::min<std::size_t>(k, all.size()));
    REQUIRE(std::equal(results.begin(), results.begin() + num_results, all.begin()));
    if (!is_full)
      CHECK(limit == gpu::no_key);
    else
      CHECK(limit == (turn % 3 != 0 && bound <= worst ? 0 : all[k - 1]));
  }
}

TEST_CASE("an emulated thread block sorts keys and merges them with the best", "[gpu_emulated][property]") {
  std::mt19937_64 random(3);
  for (const std::uint32_t size : {1u, 2u, 16u, 128u}) {
    for (const std::uint32_t count : {1u, 2u, 15u, 16u, 33u, 200u}) {
      const emulated::RandomOrder order(size + count);
      INFO(size << " best, " << count << " more");
      std::vector<gpu::RankKey> best(size), more(gpu::sorted_space(count), 7);
      for (gpu::RankKey& key : best) key = random() % 500;
      std::generate(more.begin(), more.begin() + count, [&] { return random() % 500; });
      std::sort(best.begin(), best.end());
      if (size > 1) std::fill(best.begin() + size / 2, best.end(), gpu::no_key);  // not full yet
      std::vector<gpu::RankKey> all(best), rising(more.begin(), more.begin() + count);
      all.insert(all.end(), rising.begin(), rising.end());
      std::sort(all.begin(), all.end());
      std::sort(rising.begin(), rising.end());
      emulated::run(1, few_threads, [&] {
        gpu::sort_keys(more.data(), count);
        gpu::merge_best(best.data(), size, more.data(), count);
      });
      CHECK(std::equal(rising.begin(), rising.end(), more.begin()));
      CHECK(std::all_of(more.begin() + count, more.end(), [](gpu::RankKey key) { return key == gpu::no_key; }));
      CHECK(std::equal(best.begin(), best.end(), all.begin()));
    }
  }
}

TEST_CASE("row searches that start at a row agree with binary search", "[gpu_strategy][property]") {
  std::mt19937 random(23);
  for (const std::uint32_t rows : {1u, 2u, 3u, 8u, 31u, 200u}) {
    std::vector<std::uint32_t> last(rows);
    for (std::uint32_t& docid : last) docid = random() % 1000;
    std::sort(last.begin(), last.end());
    for (std::uint32_t from = 0; from <= rows; ++from) {
      const std::uint32_t target = random() % 1100;
      const auto expected = std::lower_bound(last.begin() + from, last.end(), target) - last.begin();
      CHECK(gpu::next_row(last.data(), from, rows, target) == static_cast<std::uint32_t>(expected));
    }
  }
}

}  // namespace quern
