#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/range/range_batch.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/gpu/worker/query_batch.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// The contents of a batch for a GPU, checked without one: units are close upper bounds of scores.
namespace quern {
namespace {

using namespace testing;

struct QuerySubject {
  explicit QuerySubject(unsigned quantize_bits) {
    BuildOptions options = blocks_of(8);
    options.quantize_bits = quantize_bits;
    index.emplace(corpus.index(options));
    engine.emplace(*index, with_scores(quantize_bits > 0 ? Scores::quantized : Scores::exact));
  }

  IndexedCorpus corpus{83, {900, 150, 40, false}};
  std::optional<IndexReader> index;
  std::optional<QueryEngine> engine;
};

/// The sums of units of all documents of a query, as kernels compute them.
std::map<docid_t, std::uint64_t> sums_of(const QueryEngine& engine, std::span<const WeightedList> lists,
                                         const gpu::QueryBatch& batch, const gpu::BatchQuery& query) {
  std::map<docid_t, std::uint64_t> sums;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const gpu::BatchTerm& term = batch.terms[query.first_term + i];
    BlockReader reader(engine.index(), lists[i].list);
    for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
      reader.load(block);
      for (unsigned j = 0; j < reader.size(); ++j) {
        const docid_t docid = reader.docids()[j];
        const float part = impact(reader.freqs()[j], engine.constants()[docid]);
        std::uint64_t value = 0;
        if (const ImpactQuantizer* quantizer = engine.quantizer())
          value = (*quantizer)(engine.index().quantized_weight(lists[i].list) * part);
        else
          value = std::min<std::uint64_t>(gpu::value_steps, static_cast<std::uint64_t>(std::ceil(part * 65535.3)));
        const std::uint32_t units =
            gpu::units_of(static_cast<std::uint32_t>(value), term.unit_weight, term.unit_offset);
        REQUIRE(units <= term.max_units);
        sums[docid] += units;
      }
    }
  }
  const auto static_scores = engine.scoring_context().static_scores;
  for (auto& [docid, units] : sums)
    if (!static_scores.empty()) units += gpu::units_of_score(query.scale, static_scores[docid]);
  return sums;
}

void check_units(const QueryEngine& engine, const ModelIndex& model) {
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& terms : draw_queries(19, model, 60)) {
    bool all_found = false;
    const auto lists = engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found);
    if (lists.empty()) continue;
    INFO(text_of(terms));
    gpu::QueryBatch batch(engine);
    const std::size_t k = 10;
    batch.add(std::vector<gpu::UnbatchedQuery>{{lists}}, {.k = k});
    const gpu::BatchQuery& query = batch.queries.front();
    std::uint64_t most = 0;
    for (const gpu::BatchTerm& term : batch.terms) most += term.max_units;
    REQUIRE(most <= gpu::max_units);
    const auto sums = sums_of(engine, lists, batch, query);
    const auto all = engine.search(terms_of_text(text_of(terms), analyzer), algorithm_named("or"), 100000);
    REQUIRE(all.size() == sums.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::uint64_t units = sums.at(all[rank].docid);
      const double score = static_cast<double>(all[rank].score) * static_cast<double>(query.scale);
      if (query.exact_units) {
        REQUIRE(static_cast<double>(units) == score);
      } else {
        REQUIRE(static_cast<double>(units) >= score);
        REQUIRE(static_cast<double>(units) * static_cast<double>(query.lower_factor) - query.lower_margin <= score);
      }
      if (rank < k) REQUIRE(units >= query.min_units);
    }
  }
}

}  // namespace

TEST_CASE("units are close upper bounds of scores", "[gpu_batch][property]") {
  const QuerySubject subject(0);
  check_units(*subject.engine, subject.corpus.model);
}

TEST_CASE("units are upper bounds of scores with PageRank", "[gpu_batch][property]") {
  RankedPages pages(89, {900, 150, 40, false});
  for (const double alpha : {0.0, 0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const IndexReader index = pages.index(order, alpha, blocks_of(8));
    check_units(QueryEngine(index, with_pagerank(alpha)), ModelIndex(pages.documents, order.documents));
  }
}

TEST_CASE("units of quantized scores are the scores if they fit", "[gpu_batch][property][quantized]") {
  for (const unsigned bits : {8u, 16u}) {
    const QuerySubject subject(bits);
    check_units(*subject.engine, subject.corpus.model);
  }
}

TEST_CASE("a batch contains each list once, and cuts its queries into chunks", "[gpu_batch]") {
  const QuerySubject subject(0);
  const QueryEngine& engine = *subject.engine;
  Analyzer analyzer = engine.make_analyzer();
  gpu::QueryBatch batch(engine);
  bool all_found = false;
  const auto lists = engine.lists_of(terms_of_text("often everywhere", analyzer), all_found);
  REQUIRE(lists.size() == 2);
  CHECK(batch.add(std::vector<gpu::UnbatchedQuery>(99, {lists}), {}) == 99);
  CHECK(batch.add(std::vector<gpu::UnbatchedQuery>(5, {lists}), {}, [&] { return batch.queries.size() < 100; }) == 1);
  CHECK(batch.lists.size() == 2);
  CHECK(batch.terms.size() == 200);
  CHECK(batch.postings == 100 * (lists[0].list.df + lists[1].list.df));
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    std::uint32_t next = 0;
    for (const gpu::QuerySet& chunk : gpu::cut_query_sets(batch, most)) {
      CHECK(chunk.first_query == next);
      CHECK(chunk.queries <= std::min<std::size_t>(most, gpu::max_set_queries));
      CHECK(chunk.queries * 2 <= gpu::max_set_terms);
      next += chunk.queries;
    }
    CHECK(next == 100);
  }
}

TEST_CASE("queries added together give the same batch as one by one", "[gpu_batch][property]") {
  for (const unsigned bits : {0u, 8u}) {
    const QuerySubject subject(bits);
    const QueryEngine& engine = *subject.engine;
    Analyzer analyzer = engine.make_analyzer();
    std::vector<std::vector<WeightedList>> lists;
    for (const auto& terms : draw_queries(23, subject.corpus.model, 400)) {
      bool all_found = false;
      lists.push_back(engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found));
      if (lists.back().empty()) lists.pop_back();
    }
    gpu::QueryBatch together(engine), one_by_one(engine);
    std::vector<gpu::UnbatchedQuery> waiting;
    for (std::size_t i = 0; i < lists.size(); ++i) waiting.push_back({lists[i], static_cast<std::uint32_t>(i % 3)});
    CHECK(together.add(waiting, {}) == waiting.size());
    for (const gpu::UnbatchedQuery& query : waiting) one_by_one.add(std::span(&query, 1), {});
    CHECK(together.lists.size() == one_by_one.lists.size());
    CHECK(together.raw_docids == one_by_one.raw_docids);
    CHECK(together.raw_values == one_by_one.raw_values);
    CHECK(together.entries == one_by_one.entries);
    CHECK(together.tasks == one_by_one.tasks);
    CHECK(together.postings == one_by_one.postings);
    REQUIRE(together.terms.size() == one_by_one.terms.size());
    for (std::size_t i = 0; i < together.terms.size(); ++i) {
      CHECK(together.terms[i].list == one_by_one.terms[i].list);
      CHECK(together.terms[i].unit_weight == one_by_one.terms[i].unit_weight);
    }
    REQUIRE(together.queries.size() == one_by_one.queries.size());
    for (std::size_t i = 0; i < together.queries.size(); ++i) {
      CHECK(together.queries[i].first_term == one_by_one.queries[i].first_term);
      CHECK(together.queries[i].min_units == one_by_one.queries[i].min_units);
    }
  }
}

TEST_CASE("without CUDA or a GPU, the engine reports which is missing", "[gpu_batch]") {
  if (!list_gpus().empty()) return;
  const QuerySubject subject(0);
  NoProgress progress;
  CHECK_THROWS_AS(GpuEngine(*subject.engine, {}, progress), CudaError);
}

TEST_CASE("terms are numbered in the order of their first occurrence", "[gpu_batch][property]") {
  for (const term_t spread : {term_t{10}, term_t{5000}, ~term_t{0}}) {
    std::mt19937 random(spread);
    gpu::TermNumbers numbers;
    std::unordered_map<term_t, std::uint32_t> expected;
    for (unsigned i = 0; i < 20000; ++i) {
      const term_t term = std::uniform_int_distribution<term_t>(0, spread)(random);
      const auto [place, is_new] = expected.try_emplace(term, static_cast<std::uint32_t>(expected.size()));
      REQUIRE(numbers.number_of(term) == std::pair(place->second, is_new));
    }
  }
}

}  // namespace quern
