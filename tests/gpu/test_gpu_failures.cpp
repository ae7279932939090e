#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"
#ifdef QUERN_HAS_CUDA
#include "gpu/failing_strategy.hpp"
#include "gpu/lose_gpu.hpp"
#include "gpu/memory_hog.hpp"
#endif
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// Failures of GPUs: an error names the call that failed, or the other GPUs take over.
namespace quern {
namespace {

using namespace testing;

struct SmallEngine {
  Pipeline pipeline;
  IndexReader index = open(pipeline);
  QueryEngine engine{index, {}};
  NoProgress progress;

  static IndexReader open(Pipeline& pipeline) {
    const CollectionReader collection(pipeline.parse(as_jsonl(random_corpus(5, {}))));
    return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  }
};

}  // namespace

TEST_CASE("GPU numbers that do not exist are refused, with the number of GPUs that do", "[gpu]") {
  SKIP_WITHOUT_GPU();
  SmallEngine small;
  const auto there = static_cast<unsigned>(list_gpus().size());
  const std::string count = "this machine has " + std::to_string(there);
  for (const GpuOptions& options : {GpuOptions{there, 100, 1}, GpuOptions{0, 100, there + 1}, GpuOptions{1, 100, there},
                                    GpuOptions{there + 7, 100, 0}}) {
    CHECK_THROWS_AS(GpuEngine(small.engine, options, small.progress), InvalidArgument);
    CHECK_THROWS_WITH(GpuEngine(small.engine, options, small.progress), Catch::Contains(count));
  }
  CHECK(GpuEngine(small.engine, {0, 100, 0}, small.progress).gpus() == there);
}

TEST_CASE("several GPUs give the results of one", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  SmallEngine small;
  Analyzer analyzer = small.engine.make_analyzer();
  std::vector<std::string_view> texts;
  for (unsigned i = 0; i < 40; ++i)
    for (const char* text : {"everywhere", "often everywhere", "often", "unknown often"}) texts.emplace_back(text);
  for (const unsigned gpus : {0u, 1u}) {
    GpuEngine gpu(small.engine, {0, 5, gpus}, small.progress);
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      const auto answers = search_texts(gpu, small.engine, texts, algorithm, 10);
      for (std::size_t i = 0; i < texts.size(); ++i)
        require_same(answers[i], small.engine.search(terms_of_text(texts[i], analyzer), algorithm, 10));
    }
  }
}

#ifdef QUERN_HAS_CUDA
TEST_CASE("if a GPU runs out of memory, batches shrink or move to the CPU, and later ones run on the GPU again",
          "[gpu]") {
  SKIP_WITHOUT_GPU();
  SmallEngine small;
  // Too few for more than one step.
  const std::vector<std::string_view> texts(2 * gpu::first_step_queries - 1, "often everywhere");
  const QueryAlgorithm& algorithm = algorithm_named("or");
  Analyzer analyzer = small.engine.make_analyzer();
  const auto expected = small.engine.search(terms_of_text(texts.front(), analyzer), algorithm, 1000);
  GpuEngine gpu(small.engine, {}, small.progress);
  GpuStatistics statistics;
  {
    const MemoryHog hog;
    for (const auto& answer : search_texts(gpu, small.engine, texts, algorithm, 1000, &statistics))
      require_same(answer, expected);
    CHECK((statistics.on_cpu > 0 || statistics.batches > 1));
    CHECK(gpu.gpus() == 1);
  }
  // Batches grow again, to twice the queries each time.
  for (unsigned turn = 0; turn < 4; ++turn) {
    for (const auto& answer : search_texts(gpu, small.engine, texts, algorithm, 1000, &statistics))
      require_same(answer, expected);
    CHECK(statistics.on_cpu == 0);
  }
  CHECK(statistics.batches == 1);
}

TEST_CASE("if calls for one of several GPUs fail, it is excluded and the others answer its queries", "[gpu]") {
  SKIP_WITHOUT_GPU();
  SmallEngine small;
  const std::vector<std::string_view> texts(20000, "often everywhere");
  const QueryAlgorithm& algorithm = algorithm_named("or");
  Analyzer analyzer = small.engine.make_analyzer();
  const auto expected = small.engine.search(terms_of_text(texts.front(), analyzer), algorithm, 100);
  const gpu::Strategy failing = failing_on_first_gpu();
  const auto count = static_cast<unsigned>(list_gpus().size());
  GpuEngine gpu(small.engine, {0, 1000, count, &failing}, small.progress);
  for (unsigned turn = 0; count > 1 && turn < 3; ++turn) {
    GpuStatistics statistics;
    for (const auto& answer : search_texts(gpu, small.engine, texts, algorithm, 100, &statistics))
      require_same(answer, expected);
    CHECK(gpu.gpus() == count - 1);
    REQUIRE(statistics.failed_gpus.size() == (turn == 0 ? 1u : 0u));
    if (turn == 0) CHECK_THAT(statistics.failed_gpus[0], Catch::Contains("GPU 0 is no longer used: cudaMemsetAsync"));
    CHECK(statistics.on_cpu == 0);
  }
  if (count == 1) {
    CHECK_THROWS_WITH(search_texts(gpu, small.engine, texts, algorithm, 100), Catch::Contains("cudaMemsetAsync"));
    CHECK_THROWS_WITH(search_texts(gpu, small.engine, texts, algorithm, 100), Catch::Contains("all GPUs have failed"));
  }
  // The same thread can use all of them again.
  GpuEngine another(small.engine, {0, 1000, count}, small.progress);
  for (const auto& answer : search_texts(another, small.engine, texts, algorithm, 100)) require_same(answer, expected);
  CHECK(another.gpus() == count);
}

// Hidden and run separately, since no later test in the same process could use a GPU. With CUDA 13, a kernel that traps
// on one GPU makes the process's calls for all other GPUs fail too.
TEST_CASE("a lost GPU is reported with the call that failed, and nothing waits for it", "[.gpu_lost]") {
  SKIP_WITHOUT_GPU();
  SmallEngine small;
  const std::vector<std::string_view> texts(100, "often everywhere");
  const QueryAlgorithm& algorithm = algorithm_named("or");
  GpuEngine gpu(small.engine, {0, 10, 0}, small.progress);
  Analyzer analyzer = small.engine.make_analyzer();
  require_same(search_texts(gpu, small.engine, texts, algorithm, 10).back(),
               small.engine.search(terms_of_text(texts.back(), analyzer), algorithm, 10));
  lose_gpu();
  CHECK_THROWS_WITH(search_texts(gpu, small.engine, texts, algorithm, 10),
                    Catch::Contains("cuda") && Catch::Contains(" failed at "));
  CHECK_THROWS_WITH(search_texts(gpu, small.engine, texts, algorithm, 10), Catch::Contains("all GPUs have failed"));
  CHECK_THROWS_AS(GpuEngine(small.engine, {0, 10, 0}, small.progress), CudaError);
}
#endif

}  // namespace quern
