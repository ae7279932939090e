#include <vector>

#include "quern/lab/rerank_bench.hpp"

#include "catch.hpp"

namespace quern {
namespace {

RerankFigures rerank_time(const char* ranker, std::size_t documents, unsigned threads, double seconds) {
  RerankFigures figures;
  figures.ranker = ranker;
  figures.documents = documents;
  figures.threads = threads;
  figures.seconds = seconds;
  return figures;
}

}  // namespace

TEST_CASE("a summary has the number of documents from which a GPU is faster", "[measure][ranker]") {
  const std::vector<RerankFigures> on_cpu = {
      rerank_time("a", 1, 1, 1),    rerank_time("a", 10, 1, 10), rerank_time("a", 100, 1, 100),
      rerank_time("a", 100, 8, 20), rerank_time("b", 1, 1, 1),   rerank_time("b", 100, 1, 12),
      rerank_time("c", 1, 1, 1),
  };
  const std::vector<RerankFigures> on_gpu = {
      rerank_time("b", 100, 1, 3),  rerank_time("a", 1, 1, 0.5), rerank_time("a", 10, 1, 10),
      rerank_time("a", 100, 1, 10), rerank_time("b", 1, 1, 0.9), rerank_time("c", 1, 1, 2),
      rerank_time("d", 1, 1, 2),
  };
  const std::vector<RerankSummary> summaries = summarize_reranking(on_cpu, on_gpu);
  REQUIRE(summaries.size() == 3);
  CHECK(summaries[0].ranker == "b");
  CHECK(summaries[0].min_documents == 1);
  CHECK(summaries[0].max_documents == 100);
  CHECK(summaries[0].speedup == 4);
  CHECK_FALSE(summaries[0].threads_speedup);
  CHECK(summaries[1].ranker == "a");
  CHECK(summaries[1].min_documents == 100);  // also faster with 1, but not with 10
  CHECK(summaries[1].speedup == 10);
  CHECK(summaries[1].threads_speedup == 2);
  CHECK_FALSE(summaries[2].min_documents);
  CHECK(summaries[2].speedup == 0.5);
  CHECK(mean_speedup(summaries) == Approx(3 / (0.25 + 0.1 + 2)));
  CHECK(mean_speedup({}) == 0);
}

}  // namespace quern
