#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/formats/container.hpp"
#include "quern/order/order.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "sanitized.hpp"

/// bm25+pagerank and its early termination, compared with the reference scorer.
namespace quern {

using namespace testing;

TEST_CASE("bm25+pagerank gives the exact bits of a plain scorer, whether or not it may stop early",
          "[query][order][property]") {
  // More documents than fit in a window.
  RankedPages pages(67, {1100, 120, 14, false});
  for (const double alpha : {0.0, 0.3, 0.9, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const ModelIndex model(pages.documents, order.documents);
    ModelScoring scoring;
    scoring.alpha = alpha;
    scoring.pagerank = order.pagerank;
    const auto queries = draw_queries(17, model, rounds(40));
    for (const unsigned block_size : {2u, 8u, 128u}) {
      INFO("alpha " << alpha << ", blocks of " << block_size);
      const IndexReader index = pages.index(order, alpha, blocks_of(block_size));
      QueryStatistics early, late;
      const QueryEngine engine(index, with_pagerank(alpha));
      REQUIRE(engine.ends_early());
      check_engine(engine, model, queries, scoring, &early);
      const QueryEngine full(index, with_pagerank(alpha, false));
      REQUIRE_FALSE(full.ends_early());
      check_engine(full, model, queries, scoring, &late);
      CHECK(early.stopped_early > 0);
      CHECK(late.stopped_early == 0);
      CHECK(early.depths[0].read < early.depths[0].postings);
      CHECK(early.blocks_decoded < late.blocks_decoded);
    }
  }
}

TEST_CASE("k1, b and alpha are the index's unless the user sets them", "[query][order]") {
  RankedPages pages(67, {50, 10, 14, false});
  const IndexReader scored = pages.index(pages.order(OrderBy::score, 0.9), 0.9, blocks_of(128));
  ScoringOptions options = scoring_of_index(scored, {});
  CHECK(options.bm25 == scored.manifest().bm25);
  CHECK(options.alpha == 0.9);
  options = scoring_of_index(scored, {2.5, std::nullopt, 0.0});
  CHECK(options.bm25 == Bm25Parameters{2.5, scored.manifest().bm25.b});
  CHECK(options.alpha == 0);
  options = scoring_of_index(scored, {std::nullopt, 0.0, std::nullopt});
  CHECK(options.bm25 == Bm25Parameters{scored.manifest().bm25.k1, 0});
  // Without global scores the index has no alpha.
  const IndexReader plain = pages.index(pages.order(OrderBy::natural, 0.9), 0.9, blocks_of(128));
  REQUIRE(plain.global_scores().empty());
  CHECK(scoring_of_index(plain, {}).alpha == 0.3);
}

TEST_CASE("bm25+pagerank gives the exact bits of a plain scorer in every order, for other k1, b, IDF and alpha",
          "[query][order][property]") {
  RankedPages pages(71, {700, 100, 20, false});
  for (const OrderMethod& method : all_orders()) {
    const DocumentOrder order = pages.order(method.by, 0.3);
    const ModelIndex model(pages.documents, order.documents);
    const IndexReader index = pages.index(order, 0.3, blocks_of(4));
    const auto queries = draw_queries(19, model, rounds(25));
    for (ModelScoring scoring : {ModelScoring{1.2, 0.75, true}, ModelScoring{0.9, 0.4, false}, ModelScoring{}}) {
      for (const double alpha : {0.3, 0.5, 1.0}) {
        INFO(method.name() << ", k1 " << scoring.k1 << ", alpha " << alpha);
        scoring.alpha = alpha;
        scoring.pagerank = order.pagerank;
        ScoringOptions options = with_pagerank(alpha);
        options.bm25 = {scoring.k1, scoring.b};
        options.idf = scoring.robertson ? Idf::robertson : Idf::lucene;
        const QueryEngine engine(index, options);
        const bool as_ordered = alpha == 0.3 && scoring.k1 == 1.2 && method.by == OrderBy::score;
        CHECK(engine.ends_early() == as_ordered);
        CHECK(engine.why_not_early().empty() == as_ordered);
        check_engine(engine, model, queries, scoring);
      }
    }
  }
}

TEST_CASE("no query scores a document above its global score", "[query][order][property]") {
  for (const Bm25Parameters bm25 : {Bm25Parameters{1.2, 0.75}, Bm25Parameters{0, 0.5}, Bm25Parameters{100, 1}}) {
    for (const double alpha : {0.0, 0.3, 0.999, 1.0}) {
      RankedPages pages(73, {300, 90, 200, false});
      const DocumentOrder order = pages.order(OrderBy::score, alpha, bm25);
      CHECK(std::is_sorted(order.global_scores.begin(), order.global_scores.end(), std::greater<>()));
      const ModelIndex model(pages.documents, order.documents);
      ModelScoring scoring{bm25.k1, bm25.b};
      scoring.alpha = alpha;
      scoring.pagerank = order.pagerank;
      auto queries = draw_queries(23, model, 60);
      // Single terms reach their documents' bounds.
      for (const auto& list : model.lists()) queries.push_back({list.first});
      float nearest = 1;
      for (const auto& terms : queries) {
        for (const ScoredDocument& found : model.search(terms, false, pages.documents.size(), scoring)) {
          const float bound = order.global_scores[found.docid];
          REQUIRE(found.score <= bound);
          nearest = std::min(nearest, bound - found.score);
        }
      }
      CHECK(nearest < 1e-4f);
    }
  }
}

TEST_CASE("documents with equal global scores are in URL order, then in docno order", "[order]") {
  Pipeline pipeline;
  std::string corpus;
  const auto add = [&](const char* docno, const char* url) {
    corpus += std::string("{\"id\":\"") + docno + "\",\"url\":\"" + url + "\",\"contents\":\"same text\"}\n";
  };
  add("d", "http://b.example/");
  add("c", "");
  add("b", "http://a.example/");
  add("a", "http://b.example/");
  add("0", "");
  const CollectionReader collection(pipeline.parse(corpus));
  const std::vector<float> pagerank(5, 0.5f);
  const OrderOptions options;
  const DocumentOrder order = order_by_score({collection, options, pagerank, pipeline.resources});
  CHECK(order.documents == std::vector<docid_t>{2, 3, 0, 4, 1});
}

TEST_CASE("bm25+pagerank is refused if the index has no PageRank", "[query][order]") {
  RankedPages pages(79, {100, 30, 20, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.3);
  BuildOptions build;
  build.quantize_bits = 8;
  const IndexReader index = pages.index(order, 0.3, build);
  ScoringOptions options = with_pagerank(0.3);
  options.scores = Scores::quantized;
  CHECK_THROWS_AS(QueryEngine(index, options), InvalidArgument);
  CHECK_THROWS_AS(QueryEngine(index, with_pagerank(1.5)), InvalidArgument);
  const IndexReader plain = pages.index(pages.pipeline.order(pages.collection), 0.3, {});
  CHECK_THROWS_AS(QueryEngine(plain, with_pagerank(0.3)), InvalidArgument);
  // Damaged scores would give wrong results.
  DocumentOrder damaged = order;
  std::swap(damaged.global_scores.front(), damaged.global_scores.back());
  CHECK_THROWS_AS(QueryEngine(pages.index(damaged, 0.3, {}), with_pagerank(0.3)), CorruptFile);
  damaged = order;
  damaged.pagerank[7] = 1.5f;
  CHECK_THROWS_AS(QueryEngine(pages.index(damaged, 0.3, {}), with_pagerank(0.3)), CorruptFile);
}

}  // namespace quern
