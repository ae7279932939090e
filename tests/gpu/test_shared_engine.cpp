#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/shared_engine.hpp"
#include "quern/plan/query_features.hpp"

#include "catch.hpp"
#include "index/pipeline/random_documents.hpp"
#include "indexed_corpus.hpp"
#include "same_results.hpp"

/// Queries that a CPU and what stands for GPUs share: the exhaustive scorer's results, whoever answers.
namespace quern {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using Results = QueryResults;

struct SharedCorpus {
  explicit SharedCorpus(std::uint64_t seed) : corpus(seed, {}), random(seed) {
    CodecOptions small;
    small.block_size = 64;
    index.emplace(corpus.index(coded(*all_codecs().front(), small)));
    engine.emplace(*index, ScoringOptions{});
    const std::vector<std::string> terms = corpus.terms(60);
    for (std::size_t i = 0; i < 700; ++i) {
      std::string text;
      for (std::uint64_t words = 1 + random.below(4); words > 0; --words)
        text += terms[random.below(terms.size())] + (random.below(40) == 0 ? "nowhere " : " ");
      texts.push_back(text);
    }
  }
  std::vector<std::string_view> views() const { return {texts.begin(), texts.end()}; }
  Results exhaustive(const QueryAlgorithm& algorithm, std::size_t k, const DocumentSet* passing = nullptr) const {
    const QueryAlgorithm& by = algorithm_named(algorithm.matching == Matching::any ? "or" : algorithm.name);
    Analyzer analyzer = engine->make_analyzer();
    Results results;
    for (const std::string& text : texts) results.push_back(engine->search(text, by, k, analyzer, nullptr, passing));
    return results;
  }

  IndexedCorpus corpus;
  RandomBits random;
  std::optional<IndexReader> index;
  std::optional<QueryEngine> engine;
  std::vector<std::string> texts;
};

/// Answers as GPUs do; from the `fails_at`th batch on it throws.
SharedEngine::BatchSearch stands_for_gpus(const SharedCorpus& of, const QueryAlgorithm& algorithm, std::size_t k,
                                          unsigned fails_at = 0, const DocumentSet* passing = nullptr) {
  auto batches = std::make_shared<std::atomic<unsigned>>(0);
  return [&of, &algorithm, k, fails_at, passing, batches](std::span<const std::string_view> texts,
                                                          GpuStatistics& statistics) {
    if (++*batches == fails_at) throw CudaError("the GPU is lost");
    Analyzer analyzer = of.engine->make_analyzer();
    Results results;
    for (const std::string_view text : texts)
      results.push_back(of.engine->search(text, algorithm, k, analyzer, nullptr, passing));
    statistics.queries += texts.size();
    return results;
  };
}

SharedEngineOptions with_schedule(std::string_view name, unsigned threads) {
  SharedEngineOptions options;
  options.schedule = name;
  options.schedule_options.cpu_threads = threads;
  options.schedule_options.max_blocks = 3;
  options.gpu_threads = 1;
  options.max_batch = 20;
  options.strategy = "range";
  return options;
}

/// Any query takes a power of two of microseconds on the CPU, and another one on a GPU.
CostTable constant_costs(const QueryAlgorithm& algorithm, double cpu_log_us, double gpu_log_us) {
  CostTable costs;
  for (const Processor device : {Processor::cpu, Processor::gpu}) {
    CostFunction& function = costs.functions.emplace_back();
    function.device = device;
    function.algorithm = algorithm.name;
    if (device == Processor::gpu) function.strategy = "range";
    function.k = 10;
    function.batch = 1;
    function.tree.nodes = {{}};
    function.tree.nodes[0].model.constant = device == Processor::cpu ? cpu_log_us : gpu_log_us;
    function.tree.nodes[0].lowest = -20;
    function.tree.nodes[0].highest = 20;
  }
  return costs;
}

/// The answers in the order in which they are handed over, which must be that of the queries.
Results answers_of(SharedEngine& engine, std::span<const std::string_view> texts, GpuStatistics& statistics,
                   std::uint64_t held_bytes = default_held_bytes) {
  Results results;
  BatchSteps steps;
  steps.render = [](std::size_t i, QueryAnswer& answer) { answer.text = std::to_string(i); };
  steps.take = [&](std::size_t i, const QueryAnswer& answer) {
    CHECK(i == results.size());
    CHECK(answer.text == std::to_string(i));
    results.push_back(answer.documents);
  };
  engine.run(texts, steps, statistics, held_bytes);
  return results;
}

/// The answer to a query that arrives alone.
std::vector<ScoredDocument> answer_of(SharedEngine& engine, std::string_view text, GpuStatistics& statistics) {
  return answers_of(engine, {&text, 1}, statistics).front();
}

}  // namespace

TEST_CASE("a CPU and GPUs that share queries give the exhaustive results, by any schedule", "[gpu_shared]") {
  SharedCorpus of(1);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      const std::size_t k = 1 + of.random.below(20);
      const auto threads = static_cast<unsigned>(1 + of.random.below(3));
      INFO(policy.name << ", " << algorithm.name << ", k = " << k << ", threads " << threads);
      SharedEngine engine(*of.engine, algorithm, k, stands_for_gpus(of, algorithm, k), {},
                          with_schedule(policy.name, threads), [](const std::string&) { FAIL("a notice"); });
      GpuStatistics statistics;
      // A few held at a time, then all.
      const std::uint64_t held_bytes = of.random.below(2) == 0 ? 5000 : default_held_bytes;
      CHECK(are_same(answers_of(engine, of.views(), statistics, held_bytes), of.exhaustive(algorithm, k)));
      const SharedFigures& figures = engine.figures();
      CHECK(figures.on_cpu.queries() + figures.on_gpu.queries() == of.texts.size());
      CHECK(figures.on_cpu.taken_over + figures.on_gpu.taken_over == 0);
      CHECK(statistics.queries == figures.on_gpu.queries());
      CHECK(figures.on_gpu.queries() - figures.on_gpu.together <= 20 * figures.batches);
      if (policy.name == "cpu") CHECK(figures.on_gpu.queries() == 0);
      if (policy.name == "gpu") CHECK(figures.on_cpu.queries() == 0);
    }
  }
}

TEST_CASE("a CPU and GPUs share queries among the documents of a filter", "[gpu_shared][filter]") {
  SharedCorpus of(5);
  const DocumentSet passing = random_documents(of.index->num_documents(), 3, of.random);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const char* name : {"or", "and", "and-or"}) {
      INFO(policy.name << ", " << name);
      const QueryAlgorithm& algorithm = algorithm_named(name);
      SharedEngineOptions options = with_schedule(policy.name, 2);
      options.passing = &passing;
      SharedEngine engine(*of.engine, algorithm, 7, stands_for_gpus(of, algorithm, 7, 0, &passing), {}, options,
                          [](const std::string&) { FAIL("a notice"); });
      GpuStatistics statistics;
      const Results expected = of.exhaustive(algorithm, 7, &passing);
      CHECK(are_same(answers_of(engine, of.views(), statistics), expected));
      CHECK(answer_of(engine, of.texts.front(), statistics) == expected.front());
    }
  }
}

TEST_CASE("queries one after another have the same results, and go to where they end first", "[gpu_shared]") {
  SharedCorpus of(2);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    INFO(policy.name);
    SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10),
                        CostModel(constant_costs(algorithm, 0, 20)), with_schedule(policy.name, 2),
                        [](const std::string&) { FAIL("a notice"); });
    GpuStatistics statistics;
    Results results;
    for (const std::string& text : of.texts) {
      results.push_back(answer_of(engine, text, statistics));
    }
    CHECK(are_same(results, of.exhaustive(algorithm, 10)));
    // A GPU is predicted to take a second.
    if (policy.name == "first") CHECK(engine.figures().on_cpu.queries() == of.texts.size());
  }
}

TEST_CASE("GPUs that are faster than the CPU answer all that arrives together", "[gpu_shared]") {
  SharedCorpus of(8);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const CostTable costs = constant_costs(algorithm, 20, 0);
  for (const unsigned fails_at : {0u, 1u, 2u}) {
    INFO(fails_at);
    std::vector<std::string> notices;
    SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10, fails_at), CostModel(costs),
                        with_schedule("first", 3), [&](const std::string& text) { notices.push_back(text); });
    GpuStatistics statistics;
    for (unsigned run = 1; run <= 3; ++run) {
      CHECK(are_same(answers_of(engine, of.views(), statistics), of.exhaustive(algorithm, 10)));
      const bool failed = fails_at > 0 && run >= fails_at;
      CHECK(engine.figures().on_gpu.queries() == (failed ? fails_at - 1 : run) * of.texts.size());
      CHECK(engine.figures().on_gpu.together == engine.figures().on_gpu.queries());
      CHECK(notices.size() == (failed ? 1u : 0u));
    }
  }
}

TEST_CASE("features are the same of a query's terms and of its lists", "[gpu_shared]") {
  SharedCorpus of(11);
  Analyzer analyzer = of.engine->make_analyzer();
  for (const std::string& text : of.texts) {
    for (const Matching matching : {Matching::any, Matching::all}) {
      bool all_found = false;
      const auto lists = of.engine->lists_of(analyzer.terms(text), all_found);
      const QueryFeatures features = features_of(lists, all_found, of.index->block_size(), matching);
      CHECK(features == features_of(*of.index, analyzer.terms(text), matching));
      CHECK((features.postings > 0 || matching == Matching::all || lists.empty()));
    }
  }
}

TEST_CASE("what GPUs lack of a query's lists counts among what it takes there", "[gpu_shared]") {
  SharedCorpus of(12);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  // Much less than on the CPU, or much more if only a byte is missing.
  CostTable costs = constant_costs(algorithm, 0, -20);
  costs.functions[1].tree.nodes[0].model.weights[4] = 40;
  SharedEngineOptions options = with_schedule("first", 1);
  const auto is_there = [](const WeightedList& list) { return list.list.number % 4 > 0; };
  options.missing_bytes = [&](std::span<const WeightedList> lists) {
    return static_cast<std::uint64_t>(
        std::count_if(lists.begin(), lists.end(), [&](const WeightedList& list) { return !is_there(list); }));
  };
  SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10), CostModel(costs), options,
                      [](const std::string&) { FAIL("a notice"); });
  GpuStatistics statistics;
  Results results;
  std::uint64_t whole = 0;
  Analyzer analyzer = of.engine->make_analyzer();
  for (const std::string& text : of.texts) {
    results.push_back(answer_of(engine, text, statistics));
    bool all_found = false;
    const auto lists = of.engine->lists_of(analyzer.terms(text), all_found);
    whole += std::all_of(lists.begin(), lists.end(), is_there);
    CHECK(engine.figures().on_gpu.queries() == whole);
  }
  CHECK(are_same(results, of.exhaustive(algorithm, 10)));
  CHECK(whole > 0);
  CHECK(whole < of.texts.size());
}

TEST_CASE("a sample of many queries decides who answers them", "[gpu_shared]") {
  SharedCorpus of(9);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const Results once = of.exhaustive(algorithm, 10);
  std::vector<std::string_view> texts;
  Results expected;
  for (unsigned i = 0; i < 3; ++i) {
    for (const std::string& text : of.texts) texts.emplace_back(text);
    expected.insert(expected.end(), once.begin(), once.end());
  }
  for (const bool gpu_is_faster : {false, true}) {
    INFO(gpu_is_faster);
    // Asked for each query that is predicted.
    std::atomic<std::size_t> predicted = 0;
    SharedEngineOptions options = with_schedule("first", 2);
    options.missing_bytes = [&](std::span<const WeightedList>) { return ++predicted, 0; };
    SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10),
                        CostModel(constant_costs(algorithm, gpu_is_faster ? 20 : 0, gpu_is_faster ? 0 : 20)), options,
                        [](const std::string&) { FAIL("a notice"); });
    GpuStatistics statistics;
    CHECK(are_same(answers_of(engine, texts, statistics), expected));
    CHECK(predicted > texts.size() / 20 + (gpu_is_faster ? 0 : texts.size() / 2));
    CHECK(predicted < texts.size() / 10 + (gpu_is_faster ? 0 : texts.size()));
    CHECK(engine.figures().on_gpu.together == (gpu_is_faster ? texts.size() : 0));
    CHECK(engine.figures().on_cpu.queries() + engine.figures().on_gpu.queries() == texts.size());
  }
}

TEST_CASE("where a device takes longer than predicted, queries go to the other one in time", "[gpu_shared]") {
  SharedCorpus of(10);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  // A millionth of a microsecond on the CPU, 64 times as long on a GPU.
  SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10),
                      CostModel(constant_costs(algorithm, -20, -14)), with_schedule("first", 1),
                      [](const std::string&) { FAIL("a notice"); });
  GpuStatistics statistics;
  Results results;
  for (const std::string& text : of.texts) {
    results.push_back(answer_of(engine, text, statistics));
    if (results.size() == 64) CHECK(engine.figures().on_gpu.queries() == 0);
  }
  CHECK(are_same(results, of.exhaustive(algorithm, 10)));
  CHECK(engine.figures().on_gpu.queries() > 0);
  CHECK(engine.figures().on_gpu.faster == engine.figures().on_gpu.queries());
}

TEST_CASE("groups that are begun while others run have the same results, also if GPUs fail", "[gpu_shared]") {
  SharedCorpus of(7);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const Results expected = of.exhaustive(algorithm, 5);
  const auto texts = of.views();
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const unsigned fails_at : {0u, 3u}) {
      INFO(policy.name << ", batch " << fails_at);
      SharedEngine engine(*of.engine, algorithm, 5, stands_for_gpus(of, algorithm, 5, fails_at), {},
                          with_schedule(policy.name, 2), [](const std::string&) {});
      std::vector<std::unique_ptr<SharedEngine::Group>> groups;
      for (std::size_t at = 0, size = 0; at < texts.size(); at += size) {
        size = std::min<std::size_t>(1 + of.random.below(9), texts.size() - at);
        groups.push_back(engine.begin(std::span(texts).subspan(at, size)));
      }
      Results results;
      GpuStatistics statistics;
      BatchSteps steps;
      steps.take = [&](std::size_t, const QueryAnswer& answer) { results.push_back(answer.documents); };
      for (const auto& group : groups) engine.finish(*group, steps, statistics);
      CHECK(are_same(results, expected));
      CHECK(engine.figures().on_cpu.queries() + engine.figures().on_gpu.queries() == texts.size());
      groups.clear();
      // One that nobody finishes is waited for.
      engine.begin(std::span(texts).first(20));
    }
  }
}

TEST_CASE("if GPUs fail, the CPU takes over: nothing is lost, nothing twice, and one notice", "[gpu_shared]") {
  SharedCorpus of(3);
  const QueryAlgorithm& algorithm = algorithm_named("bmw");
  const Results expected = of.exhaustive(algorithm, 5);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const unsigned fails_at : {1u, 2u, 4u}) {
      INFO(policy.name << ", batch " << fails_at);
      std::vector<std::string> notices;
      SharedEngine engine(*of.engine, algorithm, 5, stands_for_gpus(of, algorithm, 5, fails_at), {},
                          with_schedule(policy.name, 1), [&](const std::string& text) { notices.push_back(text); });
      GpuStatistics statistics;
      for (unsigned turn = 0; turn < 2; ++turn) CHECK(are_same(answers_of(engine, of.views(), statistics), expected));
      CHECK(answer_of(engine, of.texts.front(), statistics).size() == expected.front().size());
      CHECK(engine.figures().on_cpu.queries() + engine.figures().on_gpu.queries() == 2 * of.texts.size() + 1);
      CHECK(notices.size() <= 1);
      for (const std::string& text : notices) CHECK(text == "the CPU answers the remaining queries: the GPU is lost");
      if (policy.name == "gpu") CHECK(notices.size() == 1);
    }
  }
}

TEST_CASE("deadlines that cannot be met are counted, and the queries answered all the same", "[gpu_shared]") {
  SharedCorpus of(4);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  for (const double deadline_us : {1e-3, 1e12}) {
    SharedEngineOptions options = with_schedule("ding", 2);
    options.deadline_us = deadline_us;
    SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10), {}, options,
                        [](const std::string&) {});
    GpuStatistics statistics;
    CHECK(are_same(answers_of(engine, of.views(), statistics), of.exhaustive(algorithm, 10)));
    CHECK(engine.figures().missed == (deadline_us < 1 ? of.texts.size() : 0));
  }
}

TEST_CASE("errors of a query, and of who takes the answers, end a run and not the engine", "[gpu_shared]") {
  SharedCorpus of(5);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  const auto throws = [](std::span<const std::string_view>, GpuStatistics&) -> Results {
    throw CorruptFile("blocks do not decode");
  };
  SharedEngine damaged(*of.engine, algorithm, 10, throws, {}, with_schedule("gpu", 1), [](const std::string&) {});
  GpuStatistics statistics;
  CHECK_THROWS_AS(answers_of(damaged, of.views(), statistics), CorruptFile);

  SharedEngine engine(*of.engine, algorithm, 10, stands_for_gpus(of, algorithm, 10), {}, with_schedule("first", 2),
                      [](const std::string&) {});
  BatchSteps steps;
  steps.take = [](std::size_t i, const QueryAnswer&) {
    if (i == 5) throw std::runtime_error("the disk is full");
  };
  CHECK_THROWS_WITH(engine.run(of.views(), steps, statistics), "the disk is full");
  CHECK(are_same(answers_of(engine, of.views(), statistics), of.exhaustive(algorithm, 10)));
  CHECK_THROWS_AS(SharedEngine(*of.engine, algorithm, 0, throws, {}, {}, nullptr), InvalidArgument);
  CHECK_THROWS_AS(SharedEngine(*of.engine, algorithm, 10, throws, {}, with_schedule("best", 1), nullptr),
                  InvalidArgument);
}

}  // namespace quern
