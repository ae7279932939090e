#include "quern/core/random.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// No engine allocates more GPU memory than it is allowed, and all results are the CPU's.
namespace quern {
namespace {

using namespace testing;

/// A random limit, mostly of a size with which some lists must be copied, and random ways to keep and copy these.
gpu::GpuMemoryOptions limited_memory(const CachePlan& plan, RandomBits& random) {
  gpu::GpuMemoryOptions memory;
  memory.share = (5 + random.below(96)) / 100.0;
  if (random.below(2) == 0) memory.plan = &plan;
  memory.retention = gpu::list_retentions[random.below(std::size(gpu::list_retentions))].value;
  memory.tails = gpu::list_tails[random.below(std::size(gpu::list_tails))].value;
  memory.transfers = gpu::list_transfers[random.below(std::size(gpu::list_transfers))].value;
  return memory;
}

/// Engines with random limits.
class BoundedEngines {
 public:
  BoundedEngines(const QueryEngine& engine, std::vector<std::string> queries, RandomBits& random)
      : engine_(engine), texts_(std::move(queries)), views_(texts_.begin(), texts_.end()), random_(random) {}

  void rank(const gpu::Strategy& strategy) {
    GpuOptions options;
    options.strategy = &strategy;
    draw(options);
    GpuStatistics statistics;
    within_limit(options.memory, statistics, [&] {
      GpuEngine gpu(engine_, options, progress_);
      Analyzer analyzer = engine_.make_analyzer();
      for (const char* name : {"or", "bmw", "and"}) {
        const QueryAlgorithm& algorithm = algorithm_named(name);
        if (!gpu::answers(strategy, algorithm)) continue;
        const std::size_t k = 1 + random_.below(20);
        GpuStatistics counted;
        const auto answers = search_texts(gpu, engine_, views_, algorithm, k, &counted);
        statistics += counted;
        for (std::size_t i = 0; i < views_.size(); ++i) {
          INFO(strategy.name << ", " << name << ", k " << k << ", query " << views_[i]);
          require_same(answers[i], engine_.search(terms_of_text(views_[i], analyzer), algorithm, k));
        }
      }
    });
  }

  void intersect(const GpuIntersectionMethod& method) {
    GpuIntersectionOptions options;
    draw(options);
    GpuIntersectionStatistics statistics;
    within_limit(options.memory, statistics, [&] {
      GpuIntersection gpu(engine_.index(), method, options, progress_);
      const Intersection cpu(engine_.index(), all_intersection_methods().front(), {});
      const ParsedQueries read = read_all(cpu, views_);
      Intersection::WorkSpace space;
      gpu.run(
          read.views(),
          [&](std::size_t i, std::span<const docid_t> documents) {
            INFO(method.name << ", query " << views_[i]);
            IntersectionAnswer answer;
            cpu.answer(read.views()[i], space, answer);
            REQUIRE(std::vector<docid_t>(documents.begin(), documents.end()) == answer.documents);
          },
          &statistics);
    });
  }

  std::size_t answered = 0, refused = 0, windows = 0, kept = 0;

 private:
  template <class Options>
  void draw(Options& options) {
    plan_ = random_plan(engine_.index(), random_);
    options.memory = limited_memory(plan_, random_);
    options.batch_queries = random_.below(2) == 0 ? 4096 : 1 + random_.below(30);
  }

  /// Calls run(), which must stay within the memory or be refused, naming a sufficient amount.
  template <class Run>
  void within_limit(const gpu::GpuMemoryOptions& memory, const GpuWorkStatistics& statistics, const Run& run) {
    const std::uint64_t limit = memory.limit(engine_.index()).value();
    INFO("memory " << *memory.share << ", that is " << limit << ", plan " << (memory.plan != nullptr) << ", cache "
                   << name_of_value(gpu::list_retentions, memory.retention) << ", tails "
                   << name_of_value(gpu::list_tails, memory.tails) << ", transfers "
                   << name_of_value(gpu::list_transfers, memory.transfers));
    try {
      run();
    } catch (const GpuOutOfMemory& error) {
      REQUIRE_THAT(error.what(), Catch::Contains("queries on a GPU need at least") &&
                                     Catch::Contains(std::string("raise ") + option_name<"gpu-memory">));
      ++refused;
      return;
    }
    ++answered;
    windows += statistics.windows;
    kept += statistics.lists.resident_lists;
    REQUIRE(statistics.limit_bytes == limit);
    REQUIRE(statistics.peak_bytes > 0);
    REQUIRE(statistics.peak_bytes <= limit);
  }

  const QueryEngine& engine_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
  RandomBits& random_;
  CachePlan plan_;
  NoProgress progress_;
};

}  // namespace

TEST_CASE("no engine allocates more GPU memory than it may, whatever it runs", "[gpu][gpu_store][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(113);
  IndexedCorpus corpus(113, {50000, 1500, 900, false});
  const auto queries = texts_of_queries(draw_queries(3, corpus.model, 16));
  std::size_t answered = 0, refused = 0, windows = 0, kept = 0;
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, static_cast<unsigned>(random.below(3))}, 8));
    for (const Scores scores : {Scores::exact, Scores::quantized}) {
      const QueryEngine engine(index, with_scores(scores));
      INFO(codec->name << ", scores " << (scores == Scores::exact ? "exact" : "quantized"));
      BoundedEngines engines(engine, queries, random);
      for (unsigned draw = 0; draw < 2; ++draw) {
        for (const gpu::Strategy& strategy : gpu::all_strategies()) engines.rank(strategy);
        const auto& methods = all_gpu_intersection_methods();
        engines.intersect(methods[random.below(methods.size())]);
      }
      answered += engines.answered;
      refused += engines.refused;
      windows += engines.windows;
      kept += engines.kept;
    }
  }
  CHECK(answered > 15);
  CHECK(refused > 5);
  CHECK(windows > 5);
  CHECK(kept > 20);
}

}  // namespace quern
