#include <functional>

#include "quern/core/random.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/random_documents.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// Filtered search, compared with the reference scorer's filtered complete ranking.
namespace quern {
namespace {

using namespace testing;

struct NamedSet {
  const char* name;
  DocumentSet documents;
};

DocumentSet draw_set(docid_t documents, const std::function<bool(docid_t)>& passes) {
  DocumentSet set(documents);
  for (docid_t docid = 0; docid < documents; ++docid)
    if (passes(docid)) set.add(docid);
  return set;
}

std::vector<NamedSet> draw_sets(docid_t documents, std::uint64_t seed) {
  RandomBits random(seed);
  std::vector<NamedSet> sets;
  sets.push_back({"none", DocumentSet(documents)});
  sets.push_back({"all", draw_set(documents, [](docid_t) { return true; })});
  const auto one = static_cast<docid_t>(random.below(documents));
  sets.push_back({"one", draw_set(documents, [&](docid_t docid) { return docid == one; })});
  sets.push_back({"half", random_documents(documents, 2, random)});
  sets.push_back({"few", random_documents(documents, 60, random)});
  sets.push_back({"a stretch", draw_set(documents, [&](docid_t docid) { return docid / 100 == one / 100; })});
  return sets;
}

std::vector<ScoredDocument> passing_of(std::vector<ScoredDocument> ranking, const DocumentSet& set, std::size_t k) {
  std::erase_if(ranking, [&](const ScoredDocument& document) { return !set.contains(document.docid); });
  if (ranking.size() > k) ranking.resize(k);
  return ranking;
}

/// Checks all algorithms with all sets, for some numbers of results.
void check_filtered(const QueryEngine& engine, const ModelIndex& model,
                    const std::vector<std::vector<std::string>>& queries, const ModelScoring& scoring,
                    const std::vector<NamedSet>& sets) {
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& terms : queries) {
    const std::string text = text_of(terms);
    INFO("query " << text);
    const auto any = model.search(terms, false, model.documents().size(), scoring);
    const auto all = model.search(terms, true, model.documents().size(), scoring);
    for (const auto& [name, set] : sets) {
      INFO("passing: " << name);
      for (const std::size_t k : {1, 4, 1000}) {
        const auto best_of_any = passing_of(any, set, k), best_of_all = passing_of(all, set, k);
        for (const QueryAlgorithm& algorithm : all_algorithms()) {
          INFO(algorithm.name << ", k " << k);
          const bool needs_all = algorithm.matching == Matching::all ||
                                 (algorithm.matching == Matching::all_else_any && best_of_all.size() == k);
          require_same(engine.search(terms_of_text(text, analyzer), algorithm, k, nullptr, &set),
                       needs_all ? best_of_all : best_of_any);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("a filtered search is the plain scorer's ranking without the documents that do not pass",
          "[query][filter][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(83, {2600, 120, 14, false}));
  const auto queries = draw_queries(23, corpus.model, 25);
  const auto sets = draw_sets(static_cast<docid_t>(corpus.documents.size()), 5);
  for (const unsigned block_size : {2u, 8u, 128u}) {
    BuildOptions options;
    options.codec_options.block_size = block_size;
    options.quantize_bits = 8;
    INFO("blocks of " << block_size);
    const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
    check_filtered(QueryEngine(index, {}), corpus.model, queries, {}, sets);
    ScoringOptions other;
    other.bm25 = {0.9, 0.4};
    check_filtered(QueryEngine(index, other), corpus.model, queries, {0.9, 0.4}, sets);
    ScoringOptions quantized;
    quantized.scores = Scores::quantized;
    ModelScoring integers;
    integers.quantize_bits = 8;
    check_filtered(QueryEngine(index, quantized), corpus.model, queries, integers, sets);
  }
}

TEST_CASE("a filtered search that stops early by global scores loses no result", "[query][filter][property]") {
  RankedPages pages(89, {900, 120, 14, false});
  const DocumentOrder order = pages.order(OrderBy::score, 0.5);
  const ModelIndex model(pages.documents, order.documents);
  ModelScoring scoring;
  scoring.alpha = 0.5;
  scoring.pagerank = order.pagerank;
  const auto queries = draw_queries(29, model, 25);
  const auto sets = draw_sets(static_cast<docid_t>(pages.documents.size()), 7);
  for (const unsigned block_size : {2u, 64u}) {
    const IndexReader index = pages.index(order, 0.5, blocks_of(block_size));
    const QueryEngine engine(index, with_pagerank(0.5));
    REQUIRE(engine.ends_early());
    check_filtered(engine, model, queries, scoring, sets);
  }
}

TEST_CASE("a set for a different number of documents is refused as a filter", "[query][filter]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(97, {50, 30, 10, false}));
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  const DocumentSet set(49);
  CHECK_THROWS_AS(engine.search(terms_of_text("often", analyzer), all_algorithms().front(), 3, nullptr, &set),
                  InvalidArgument);
}

}  // namespace quern
