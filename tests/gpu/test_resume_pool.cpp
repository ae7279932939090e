#include <memory>

#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// The threads that resume queries that GPUs leave to the CPU.
namespace quern {
namespace {

using namespace testing;

/// A query for the pool, and its expected results.
struct PoolQuery {
  std::vector<WeightedList> lists;
  std::vector<ScoredDocument> before;  ///< results among the first documents
  std::vector<ScoredDocument> results, expected;
};

}  // namespace

TEST_CASE("the pool resumes queries of several threads, and passes errors on", "[gpu_pipeline][property]") {
  IndexedCorpus corpus(11, {300, 60, 16, false});
  const IndexReader index = corpus.index(blocks_of(8));
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  constexpr docid_t first = 150;
  std::vector<PoolQuery> queries;
  for (const auto& terms : draw_queries(13, corpus.model, 400)) {
    bool all_found = false;
    PoolQuery query;
    query.lists = engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found);
    if (query.lists.empty() || !all_found) continue;
    query.expected = engine.search(terms_of_text(text_of(terms), analyzer), algorithm_named("and"), 5);
    for (const ScoredDocument& document :
         engine.search(terms_of_text(text_of(terms), analyzer), algorithm_named("and"), 300))
      if (document.docid < first && query.before.size() < 5) query.before.push_back(document);
    queries.push_back(std::move(query));
  }
  const auto hand_over = [&](gpu::ResumePool& pool) {
    gpu::in_threads(4, [&](std::size_t thread) {
      std::vector<gpu::UnfinishedQuery> own;
      for (std::size_t i = thread; i < queries.size(); i += 4) {
        queries[i].results = queries[i].before;
        own.push_back({queries[i].lists, first, &queries[i].results});
      }
      pool.resume(own);
    });
  };
  gpu::ResumePool pool(engine, 5);
  hand_over(pool);
  pool.wait();
  CHECK(pool.queries() == queries.size());
  CHECK(pool.time_us() > 0);
  for (const PoolQuery& query : queries) require_same(query.results, query.expected);

  gpu::ResumePool(engine, 5).wait();  // without queries
  { hand_over(*std::make_unique<gpu::ResumePool>(engine, 5)); }
  gpu::ResumePool refuses(engine, 0);
  hand_over(refuses);
  CHECK_THROWS_AS(refuses.wait(), InvalidArgument);
}

}  // namespace quern
