#include "quern/core/error.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// Queries resumed at a document have the same results as those from the first one.
namespace quern {
namespace {

using namespace testing;

/// An `and` query with all its results, best first.
struct Found {
  Found(const QueryEngine& engine, const std::vector<std::string>& terms) : text(text_of(terms)) {
    Analyzer analyzer = engine.make_analyzer();
    lists = engine.lists_of(terms_of_text(text, analyzer), all_found);
    all = engine.search(terms_of_text(text, analyzer), algorithm_named("and"), engine.index().num_documents() + 1);
  }
  std::vector<ScoredDocument> best(std::size_t k) const {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size()))};
  }
  std::vector<ScoredDocument> best_below(docid_t first, std::size_t k) const {
    std::vector<ScoredDocument> best;
    for (const ScoredDocument& document : all)
      if (document.docid < first && best.size() < k) best.push_back(document);
    return best;
  }

  std::string text;
  std::vector<WeightedList> lists;
  bool all_found = false;
  std::vector<ScoredDocument> all;
};

/// Resumes at every document. Returns how often nothing had to be read.
unsigned check_every_document(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries) {
  unsigned nothing_read = 0;
  const docid_t documents = engine.index().num_documents();
  for (const auto& terms : queries) {
    const Found query(engine, terms);
    if (query.lists.empty() || !query.all_found) continue;
    for (const std::size_t k : {1, 3, 64, 70}) {
      for (docid_t first = 0; first <= documents + 1; ++first) {
        INFO("query " << query.text << ", k " << k << ", from " << first);
        auto found = query.best_below(first, k);
        const bool done = found.size() == k && engine.scoring_context().none_above(first, found.back().score);
        // Later documents are found again exactly once.
        for (const ScoredDocument& document : query.best(3))
          if (document.docid >= first) found.push_back(document);
        QueryStatistics statistics;
        require_same(engine.resume(query.lists, k, first, found, &statistics), query.best(k));
        if (!done) continue;
        ++nothing_read;
        REQUIRE(statistics.blocks_decoded == 0);
        REQUIRE(statistics.stopped_at == first);
      }
      require_same(engine.resume(query.lists, k, end_docid, query.best(k)), query.best(k));
    }
  }
  return nothing_read;
}

}  // namespace

TEST_CASE("a query that is resumed at any document has the results of the whole query", "[query][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(83, {90, 40, 16, false}));
  const auto queries = draw_queries(29, corpus.model, 30);
  for (const unsigned block_size : {2u, 8u, 64u}) {
    BuildOptions build = blocks_of(block_size);
    build.quantize_bits = 4;  // many equal scores
    const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, build));
    for (const Scores scores : {Scores::exact, Scores::quantized}) {
      INFO("blocks of " << block_size << ", scores " << name_of_value(scores_names, scores));
      ScoringOptions options;
      options.scores = scores;
      const QueryEngine engine(index, options);
      CHECK(check_every_document(engine, queries) == 0);
    }
  }
}

TEST_CASE("a resumed query reads nothing if global scores rule out more results", "[query][property]") {
  RankedPages pages(89, {60, 40, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const auto queries = draw_queries(31, ModelIndex(pages.documents, order.documents), 25);
    for (const unsigned block_size : {2u, 8u}) {
      const IndexReader index = pages.index(order, alpha, blocks_of(block_size));
      INFO("alpha " << alpha << ", blocks of " << block_size);
      CHECK(check_every_document(QueryEngine(index, with_pagerank(alpha)), queries) > 100);
      CHECK(check_every_document(QueryEngine(index, with_pagerank(alpha, false)), queries) == 0);
    }
  }
}

TEST_CASE("resumed queries are refused like other queries", "[query]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(97, {40, 30, 16, false}));
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, blocks_of(2)));
  const QueryEngine engine(index, {}, 1, QueryMemory(64 << 10, 1));
  const Found query(engine, {"everywhere", "often"});
  CHECK_THROWS_AS(engine.resume(query.lists, 0, 7, {}), InvalidArgument);
  const std::vector<WeightedList> many(64, query.lists.front());
  CHECK_THROWS_WITH(engine.resume(many, 10, 7, {}), Catch::Contains(std::string("raise ") + option_name<"memory">));
  CHECK(engine.resume({}, 10, 7, {}).empty());
}

}  // namespace quern
