#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/hybrid_backend.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/plan/cost_model.hpp"

#include "catch.hpp"
#include "gpu/fake_gpus.hpp"
#include "index/pipeline/random_documents.hpp"
#include "indexed_corpus.hpp"
#include "same_results.hpp"
#include "search/read_queries.hpp"

/// Queries shared between a CPU and simulated GPUs have the exhaustive scorer's results, wherever they run.
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
    read = read_all(*engine, texts);
    cpu.emplace(std::vector{&std::as_const(*engine)});
  }
  std::span<const QueryView> views() const { return read.views(); }
  Results exhaustive(const QueryAlgorithm& algorithm, std::size_t k, const DocumentSet* passing = nullptr) const {
    const QueryAlgorithm& by = algorithm_named(algorithm.matching == Matching::any ? "or" : algorithm.name);
    Results results;
    for (const QueryView query : views()) results.push_back(engine->search(query, by, k, nullptr, passing));
    return results;
  }

  IndexedCorpus corpus;
  RandomBits random;
  std::optional<IndexReader> index;
  std::optional<QueryEngine> engine;
  std::optional<CpuBackend> cpu;
  std::vector<std::string> texts;
  ParsedQueries read;
};

/// A hybrid backend with simulated GPUs, and its notices.
struct Shared {
  Shared(const SharedCorpus& corpus, const QueryAlgorithm& used, std::size_t results, HybridOptions options,
         unsigned fails_at = 0, CostModel costs = {})
      : algorithm(used),
        k(results),
        fake(*corpus.cpu, fails_at),
        gpus(fake, [this](const std::string& text) { notices.push_back(text); }),
        hybrid(*corpus.cpu, gpus, std::move(costs), std::move(options)) {}

  SearchRequest request(std::span<const QueryView> queries) const { return {queries, &algorithm, k, passing}; }
  const HybridFigures& figures() const { return hybrid.figures(); }

  const QueryAlgorithm& algorithm;
  const std::size_t k;
  std::vector<const DocumentSet*> passing;
  std::vector<std::string> notices;
  FakeGpus fake;
  FallibleGpus gpus;
  HybridBackend hybrid;
};

HybridOptions with_schedule(std::string_view name, unsigned threads) {
  HybridOptions options;
  options.schedule = name;
  options.schedule_options.cpu_threads = threads;
  options.schedule_options.max_blocks = 3;
  options.gpu_threads = 1;
  options.max_batch = 20;
  options.strategy = "range";
  return options;
}

/// Each query takes a power of two of microseconds on the CPU, and another one on a GPU.
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

/// The answers in delivery order, which must be that of the queries.
Results answers_of(SearchBackend& backend, const SearchRequest& request,
                   std::uint64_t held_bytes = default_held_bytes) {
  Results results;
  AnswerConsumer consumer;
  consumer.held_bytes = held_bytes;
  consumer.render = [](std::size_t i, QueryAnswer& answer) { answer.text = std::to_string(i); };
  consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
    CHECK(i == results.size());
    CHECK(answer.text == std::to_string(i));
    results.push_back(answer.documents);
  };
  run(backend, request, consumer);
  return results;
}
Results answers_of(Shared& shared, std::span<const QueryView> queries, std::uint64_t held_bytes = default_held_bytes) {
  return answers_of(shared.hybrid, shared.request(queries), held_bytes);
}

/// The answer to a query that arrives alone.
std::vector<ScoredDocument> answer_of(Shared& shared, const QueryView& query) {
  return answers_of(shared, {&query, 1}).front();
}

}  // namespace

TEST_CASE("a CPU and GPUs that share queries give the exhaustive results, by any schedule", "[gpu_shared]") {
  SharedCorpus shared_corpus(1);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      const std::size_t k = 1 + shared_corpus.random.below(20);
      const auto threads = static_cast<unsigned>(1 + shared_corpus.random.below(3));
      INFO(policy.name << ", " << algorithm.name << ", k = " << k << ", threads " << threads);
      Shared shared(shared_corpus, algorithm, k, with_schedule(policy.name, threads));
      // Holds a few at a time, then all.
      const std::uint64_t held_bytes = shared_corpus.random.below(2) == 0 ? 5000 : default_held_bytes;
      CHECK(are_same(answers_of(shared, shared_corpus.views(), held_bytes), shared_corpus.exhaustive(algorithm, k)));
      CHECK(shared.notices.empty());
      const HybridFigures& figures = shared.figures();
      CHECK(figures.on_cpu.queries() + figures.on_gpu.queries() == shared_corpus.texts.size());
      CHECK(figures.on_cpu.taken_over + figures.on_gpu.taken_over == 0);
      CHECK(shared.gpus.statistics().front().queries == figures.on_gpu.queries());
      CHECK(figures.on_gpu.queries() - figures.on_gpu.together <= 20 * figures.batches);
      if (policy.name == "cpu") CHECK(figures.on_gpu.queries() == 0);
      if (policy.name == "gpu") CHECK(figures.on_cpu.queries() == 0);
    }
  }
}

TEST_CASE("a CPU and GPUs share queries among the documents of a filter", "[gpu_shared][filter]") {
  SharedCorpus shared_corpus(5);
  const DocumentSet passing = random_documents(shared_corpus.index->num_documents(), 3, shared_corpus.random);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const char* name : {"or", "and", "and-or"}) {
      INFO(policy.name << ", " << name);
      const QueryAlgorithm& algorithm = algorithm_named(name);
      Shared shared(shared_corpus, algorithm, 7, with_schedule(policy.name, 2));
      shared.passing = {&passing};
      const Results expected = shared_corpus.exhaustive(algorithm, 7, &passing);
      CHECK(are_same(answers_of(shared, shared_corpus.views()), expected));
      CHECK(answer_of(shared, shared_corpus.views().front()) == expected.front());
      CHECK(shared.notices.empty());
    }
  }
}

TEST_CASE("queries one by one have the same results, and go where they finish first", "[gpu_shared]") {
  SharedCorpus shared_corpus(2);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    INFO(policy.name);
    const CostTable costs = constant_costs(algorithm, 0, 20);
    Shared shared(shared_corpus, algorithm, 10, with_schedule(policy.name, 2), 0, CostModel(costs));
    Results results;
    for (const QueryView& query : shared_corpus.views()) results.push_back(answer_of(shared, query));
    CHECK(are_same(results, shared_corpus.exhaustive(algorithm, 10)));
    // A GPU is predicted to take a second.
    if (policy.name == "first") CHECK(shared.figures().on_cpu.queries() == shared_corpus.texts.size());
  }
}

TEST_CASE("GPUs that are faster than the CPU answer all queries that arrive together", "[gpu_shared]") {
  SharedCorpus shared_corpus(8);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const CostTable costs = constant_costs(algorithm, 20, 0);
  for (const unsigned fails_at : {0u, 1u, 2u}) {
    INFO(fails_at);
    Shared shared(shared_corpus, algorithm, 10, with_schedule("first", 3), fails_at, CostModel(costs));
    for (unsigned run = 1; run <= 3; ++run) {
      CHECK(are_same(answers_of(shared, shared_corpus.views()), shared_corpus.exhaustive(algorithm, 10)));
      const bool failed = fails_at > 0 && run >= fails_at;
      CHECK(shared.figures().on_gpu.queries() == (failed ? fails_at - 1 : run) * shared_corpus.texts.size());
      CHECK(shared.figures().on_gpu.together == shared.figures().on_gpu.queries());
      CHECK(shared.notices.size() == (failed ? 1u : 0u));
    }
  }
}

TEST_CASE("features over an engine are those of its index", "[gpu_shared]") {
  SharedCorpus shared_corpus(11);
  for (const QueryView query : shared_corpus.views())
    for (const Matching matching : {Matching::any, Matching::all})
      CHECK(features_of(shared_corpus.cpu->engines(), query, matching) ==
            features_of(*shared_corpus.index, query, matching));
}

TEST_CASE("missing bytes of a query's lists count in its predicted time on GPUs", "[gpu_shared]") {
  SharedCorpus shared_corpus(12);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  // Much less than on the CPU, or much more if only a byte is missing.
  CostTable costs = constant_costs(algorithm, 0, -20);
  costs.functions[1].tree.nodes[0].model.weights[4] = 40;
  HybridOptions options = with_schedule("first", 1);
  options.counts_missing = true;
  const auto is_there = [&](const QueryTerm& term) {
    const auto list = shared_corpus.index->find(term.term);
    return !list || list->number % 4 > 0;
  };
  Shared shared(shared_corpus, algorithm, 10, options, 0, CostModel(costs));
  shared.fake.missing = [&](QueryView query) {
    return static_cast<std::uint64_t>(
        std::count_if(query.begin(), query.end(), [&](const QueryTerm& term) { return !is_there(term); }));
  };
  Results results;
  std::uint64_t whole = 0;
  for (const QueryView& query : shared_corpus.views()) {
    results.push_back(answer_of(shared, query));
    whole += std::all_of(query.begin(), query.end(), is_there);
    CHECK(shared.figures().on_gpu.queries() == whole);
  }
  CHECK(are_same(results, shared_corpus.exhaustive(algorithm, 10)));
  CHECK(whole > 0);
  CHECK(whole < shared_corpus.texts.size());
}

TEST_CASE("a sample of many queries decides which device answers them", "[gpu_shared]") {
  SharedCorpus shared_corpus(9);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const Results once = shared_corpus.exhaustive(algorithm, 10);
  std::vector<QueryView> queries;
  Results expected;
  for (unsigned i = 0; i < 3; ++i) {
    queries.insert(queries.end(), shared_corpus.views().begin(), shared_corpus.views().end());
    expected.insert(expected.end(), once.begin(), once.end());
  }
  for (const bool gpu_is_faster : {false, true}) {
    INFO(gpu_is_faster);
    // Called for each predicted query.
    std::atomic<std::size_t> predicted = 0;
    HybridOptions options = with_schedule("first", 2);
    options.counts_missing = true;
    const CostTable costs = constant_costs(algorithm, gpu_is_faster ? 20 : 0, gpu_is_faster ? 0 : 20);
    Shared shared(shared_corpus, algorithm, 10, options, 0, CostModel(costs));
    shared.fake.missing = [&](QueryView) { return ++predicted, 0; };
    CHECK(are_same(answers_of(shared, queries), expected));
    CHECK(predicted > queries.size() / 20 + (gpu_is_faster ? 0 : queries.size() / 2));
    CHECK(predicted < queries.size() / 10 + (gpu_is_faster ? 0 : queries.size()));
    CHECK(shared.figures().on_gpu.together == (gpu_is_faster ? queries.size() : 0));
    CHECK(shared.figures().on_cpu.queries() + shared.figures().on_gpu.queries() == queries.size());
  }
}

TEST_CASE("if a device takes longer than predicted, queries go to the other one in time", "[gpu_shared]") {
  SharedCorpus shared_corpus(10);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  // A millionth of a microsecond on the CPU, 64 times as long on a GPU.
  const CostTable costs = constant_costs(algorithm, -20, -14);
  Shared shared(shared_corpus, algorithm, 10, with_schedule("first", 1), 0, CostModel(costs));
  Results results;
  for (const QueryView& query : shared_corpus.views()) {
    results.push_back(answer_of(shared, query));
    if (results.size() == 64) CHECK(shared.figures().on_gpu.queries() == 0);
  }
  CHECK(are_same(results, shared_corpus.exhaustive(algorithm, 10)));
  CHECK(shared.figures().on_gpu.queries() > 0);
  CHECK(shared.figures().on_gpu.faster == shared.figures().on_gpu.queries());
}

TEST_CASE("groups that start while others run have the same results, even if GPUs fail", "[gpu_shared]") {
  SharedCorpus shared_corpus(7);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const Results expected_of_one = shared_corpus.exhaustive(algorithm, 5);
  const auto queries = shared_corpus.views();
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const unsigned fails_at : {0u, 3u}) {
      INFO(policy.name << ", batch " << fails_at);
      Results expected;
      Shared shared(shared_corpus, algorithm, 5, with_schedule(policy.name, 2), fails_at);
      // A GPU batch may contain queries of both.
      const QueryAlgorithm& other = algorithm_named("and");
      const Results expected_of_other = shared_corpus.exhaustive(other, 3);
      std::vector<std::unique_ptr<PendingSearch>> searches;
      Results results;
      for (std::size_t at = 0, size = 0; at < queries.size(); at += size) {
        size = std::min<std::size_t>(1 + shared_corpus.random.below(9), queries.size() - at);
        SearchRequest request = shared.request(queries.subspan(at, size));
        request.others_arrive = true;
        if (searches.size() % 5 == 4) {
          request.algorithm = &other;
          request.k = 3;
        }
        const Results& all = request.algorithm == &other ? expected_of_other : expected_of_one;
        for (std::size_t i = at; i < at + size; ++i) expected.push_back(all[i]);
        searches.push_back(shared.hybrid.begin(request));
      }
      AnswerConsumer consumer;
      consumer.take = [&](std::size_t, const QueryAnswer& answer) { results.push_back(answer.documents); };
      for (const auto& search : searches) shared.hybrid.finish(*search, consumer);
      CHECK(are_same(results, expected));
      CHECK(shared.figures().on_cpu.queries() + shared.figures().on_gpu.queries() == queries.size());
      searches.clear();
      // The destructor waits for an unfinished group.
      SearchRequest unfinished = shared.request(queries.first(20));
      unfinished.others_arrive = true;
      shared.hybrid.begin(unfinished);
    }
  }
}

TEST_CASE("if GPUs fail, the CPU takes over: no query is lost or repeated, and there is one notice", "[gpu_shared]") {
  SharedCorpus shared_corpus(3);
  const QueryAlgorithm& algorithm = algorithm_named("bmw");
  const Results expected = shared_corpus.exhaustive(algorithm, 5);
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const unsigned fails_at : {1u, 2u, 4u}) {
      INFO(policy.name << ", batch " << fails_at);
      Shared shared(shared_corpus, algorithm, 5, with_schedule(policy.name, 1), fails_at);
      const std::vector<std::string>& notices = shared.notices;
      for (unsigned turn = 0; turn < 2; ++turn) CHECK(are_same(answers_of(shared, shared_corpus.views()), expected));
      CHECK(answer_of(shared, shared_corpus.views().front()).size() == expected.front().size());
      CHECK(shared.figures().on_cpu.queries() + shared.figures().on_gpu.queries() ==
            2 * shared_corpus.texts.size() + 1);
      CHECK(notices.size() <= 1);
      for (const std::string& text : notices) CHECK(text == "the CPU answers the remaining queries: the GPU is lost");
      if (policy.name == "gpu") CHECK(notices.size() == 1);
    }
  }
}

TEST_CASE("deadlines that cannot be met are counted, and the queries answered all the same", "[gpu_shared]") {
  SharedCorpus shared_corpus(4);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  for (const double deadline_us : {1e-3, 1e12}) {
    HybridOptions options = with_schedule("ding", 2);
    options.deadline_us = deadline_us;
    Shared shared(shared_corpus, algorithm, 10, options);
    CHECK(are_same(answers_of(shared, shared_corpus.views()), shared_corpus.exhaustive(algorithm, 10)));
    CHECK(shared.figures().missed == (deadline_us < 1 ? shared_corpus.texts.size() : 0));
  }
}

TEST_CASE("errors of a query or of the consumer of answers end a run but not the engine", "[gpu_shared]") {
  SharedCorpus shared_corpus(5);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  Shared damaged(shared_corpus, algorithm, 10, with_schedule("gpu", 1));
  damaged.fake.refuse = [] { throw CorruptFile("blocks do not decode"); };
  CHECK_THROWS_AS(answers_of(damaged, shared_corpus.views()), CorruptFile);

  Shared shared(shared_corpus, algorithm, 10, with_schedule("first", 2));
  AnswerConsumer consumer;
  consumer.take = [](std::size_t i, const QueryAnswer&) {
    if (i == 5) throw std::runtime_error("the disk is full");
  };
  CHECK_THROWS_WITH(run(shared.hybrid, shared.request(shared_corpus.views()), consumer), "the disk is full");
  CHECK(are_same(answers_of(shared, shared_corpus.views()), shared_corpus.exhaustive(algorithm, 10)));
  Shared none(shared_corpus, algorithm, 0, with_schedule("first", 2));
  CHECK_THROWS_AS(answers_of(none, shared_corpus.views()), InvalidArgument);
  CHECK_THROWS_AS(Shared(shared_corpus, algorithm, 10, with_schedule("best", 1)), InvalidArgument);
}

TEST_CASE("GPUs answer until they fail, then the CPU takes over", "[gpu_shared]") {
  SharedCorpus shared_corpus(13);
  const QueryAlgorithm& algorithm = algorithm_named("maxscore");
  const Results expected = shared_corpus.exhaustive(algorithm, 5);
  const SearchRequest request{shared_corpus.views(), &algorithm, 5};
  for (const unsigned fails_at : {0u, 1u, 2u, 5u}) {
    // So little memory for answers that there are many searches, or enough for all at once.
    for (const std::uint64_t held_bytes : {std::uint64_t{20000}, default_held_bytes}) {
      INFO(fails_at << ", " << held_bytes << " bytes");
      std::vector<std::string> notices;
      const auto notice = [&](const std::string& text) { notices.push_back(text); };
      FakeGpus fake(*shared_corpus.cpu, fails_at);
      FallibleGpus gpus(fake, notice);
      FailoverBackend failover(gpus, &*shared_corpus.cpu, notice);
      for (unsigned turn = 0; turn < 2; ++turn) CHECK(are_same(answers_of(failover, request, held_bytes), expected));
      const bool failed = fails_at > 0 && fails_at <= fake.searches();
      CHECK(gpus.failed() == failed);
      CHECK(notices.size() == (failed ? 1u : 0u));
      if (failed) CHECK(notices.front() == "the CPU answers the remaining queries: the GPU is lost");
      // Searches that had started when the others failed may still be finished.
      if (failed) CHECK(fake.searches() <= fails_at + 1);
      if (!failed) CHECK(gpus.statistics().front().queries == 2 * expected.size());
      CHECK((held_bytes == default_held_bytes || fake.max_queries() < 100));
      // Without a CPU, the caller gets the error.
      FakeGpus strict_fake(*shared_corpus.cpu, fails_at);
      FallibleGpus strict_gpus(strict_fake, notice);
      FailoverBackend strict(strict_gpus, nullptr, notice);
      if (fails_at == 1) {
        CHECK_THROWS_AS(answers_of(strict, request, held_bytes), CudaError);
        CHECK_THROWS_WITH(answers_of(strict, request, held_bytes), "the GPU is lost");
      } else if (fails_at == 0) {
        CHECK(are_same(answers_of(strict, request, held_bytes), expected));
      }
    }
  }
}

TEST_CASE("filtered queries that GPUs don't support go to the CPU, after one notice, or are refused", "[gpu_shared]") {
  SharedCorpus shared_corpus(14);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  const DocumentSet passing = random_documents(shared_corpus.index->num_documents(), 3, shared_corpus.random);
  const DocumentSet* const filters[] = {&passing};
  const SearchRequest request{shared_corpus.views(), &algorithm, 5, filters};
  std::vector<std::string> notices;
  const auto notice = [&](const std::string& text) { notices.push_back(text); };
  FakeGpus fake(*shared_corpus.cpu);
  fake.filters = false;
  FallibleGpus gpus(fake, notice);
  FailoverBackend failover(gpus, &*shared_corpus.cpu, notice);
  for (unsigned turn = 0; turn < 2; ++turn)
    CHECK(are_same(answers_of(failover, request), shared_corpus.exhaustive(algorithm, 5, &passing)));
  CHECK(notices == std::vector<std::string>{"queries run on the CPU: no filters here"});
  CHECK(fake.searches() == 0);
  FailoverBackend strict(gpus, nullptr, notice);
  CHECK_THROWS_AS(answers_of(strict, request), InvalidArgument);
}

TEST_CASE("the next searches start while answers are delivered, up to the backend's limit", "[gpu_shared]") {
  SharedCorpus shared_corpus(15);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  for (const SearchDivision divided : {SearchDivision{30, 1}, SearchDivision{30, 2}, SearchDivision{7, 3}}) {
    INFO(divided.queries << " queries, " << divided.searches << " searches");
    FakeGpus fake(*shared_corpus.cpu);
    fake.divided = divided;
    FallibleGpus gpus(fake, [](const std::string&) {});
    FailoverBackend failover(gpus, nullptr, [](const std::string&) {});
    std::size_t taken = 0;
    std::uint64_t max_ahead = 0;
    AnswerConsumer consumer;
    consumer.take = [&](std::size_t i, const QueryAnswer&) {
      REQUIRE(i == taken++);
      // Lets the running searches finish.
      if (i % divided.queries == 0) std::this_thread::sleep_for(1ms);
      max_ahead = std::max<std::uint64_t>(max_ahead, fake.searches() * divided.queries - i);
    };
    run(failover, {shared_corpus.views(), &algorithm, 5}, consumer);
    CHECK(taken == shared_corpus.texts.size());
    CHECK(fake.max_queries() == divided.queries);
    CHECK(fake.searches() == (shared_corpus.texts.size() + divided.queries - 1) / divided.queries);
    CHECK(max_ahead <= divided.searches * divided.queries);
    if (divided.searches > 1) CHECK(max_ahead > divided.queries);
  }
}

}  // namespace quern
