#include <atomic>
#include <cstring>
#include <thread>

#include "quern/core/random.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/same_results.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// Threads that search one engine at the same time: each gets the CPU's results.
namespace quern {
namespace {

using namespace testing;
using Results = QueryResults;

/// A search and its expected results.
struct Question {
  const QueryAlgorithm* algorithm;
  std::size_t k;
  std::vector<std::string_view> texts;
  Results expected;
};

std::vector<Question> questions(const QueryEngine& engine, const std::vector<std::string>& texts,
                                const gpu::Strategy& strategy, RandomBits& random) {
  std::vector<Question> all;
  Analyzer analyzer = engine.make_analyzer();
  for (unsigned i = 0; i < 40; ++i) {
    const QueryAlgorithm& algorithm = all_algorithms()[random.below(all_algorithms().size())];
    if (!gpu::answers(strategy, algorithm)) continue;
    Question& one = all.emplace_back();
    one.algorithm = &algorithm;
    one.k = 1 + random.below(20);
    for (std::uint64_t left = 1 + random.below(random.below(2) == 0 ? 4 : texts.size()); left > 0; --left) {
      const std::string& text = texts[random.below(texts.size())];
      one.texts.push_back(text);
      one.expected.push_back(engine.search(terms_of_text(text, analyzer), algorithm, one.k));
    }
  }
  return all;
}

/// Each thread runs all searches, each starting with a different one.
void ask_at_the_same_time(GpuEngine& gpu, const QueryEngine& engine, const std::vector<Question>& all,
                          unsigned num_threads) {
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < num_threads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Question& one = all[(i + t * all.size() / num_threads) % all.size()];
        if (!are_same(search_texts(gpu, engine, one.texts, *one.algorithm, one.k), one.expected)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("threads that search at the same time get the CPU's results", "[gpu][gpu_concurrent][query][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(83);
  IndexedCorpus corpus(83, {40000, 150, 9, false});
  const auto texts = texts_of_queries(draw_queries(3, corpus.model, 60));
  for (const unsigned bits : {0u, 8u}) {
    const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 2}, bits));
    const QueryEngine engine(index, {});
    const CachePlan plan = random_plan(index, random);
    for (const double list_share : {1.0, 0.3, 0.02}) {
      GpuOptions options;
      options.gpus = 0;
      options.batch_queries = list_share == 0.3 ? 7 : 4096;
      if (list_share < 1) options.memory.list_share = list_share;
      if (list_share == 0.3) options.memory.plan = &plan;
      NoProgress progress;
      GpuEngine gpu(engine, options, progress);
      for (const gpu::Strategy& strategy : gpu::all_strategies()) {
        INFO(strategy.name << ", " << bits << " bits, lists " << list_share);
        // With intersections of coded lists, and of decoded ones.
        gpu.set_strategy(strategy, {.decodes_always = bits == 0}, progress);
        ask_at_the_same_time(gpu, engine, questions(engine, texts, strategy, random), 5);
      }
    }
  }
}

TEST_CASE("many queries are answered in steps, at the same time as others", "[gpu][gpu_concurrent][query]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(89, {3000, 150, 9, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  const auto drawn = texts_of_queries(draw_queries(3, corpus.model, 300));
  Analyzer analyzer = engine.make_analyzer();
  Question many{&algorithm_named("or"), 10, {}, {}}, few{&algorithm_named("and"), 3, {}, {}};
  for (unsigned i = 0; i < 30000; ++i) {
    many.texts.push_back(drawn[i * 7919 % drawn.size()]);
    many.expected.push_back(i < drawn.size()
                                ? engine.search(terms_of_text(many.texts.back(), analyzer), *many.algorithm, many.k)
                                : many.expected[i - drawn.size()]);
  }
  for (unsigned i = 0; i < 20; ++i) {
    few.texts.push_back(drawn[i]);
    few.expected.push_back(engine.search(terms_of_text(drawn[i], analyzer), *few.algorithm, few.k));
  }
  NoProgress progress;
  GpuEngine gpu(engine, {}, progress);
  GpuStatistics statistics;
  CHECK(are_same(search_texts(gpu, engine, many.texts, *many.algorithm, many.k, &statistics), many.expected));
  CHECK(statistics.queries == many.texts.size());
  CHECK(statistics.batches > 1);
  ask_at_the_same_time(gpu, engine, {many, few, few, many, few}, 3);
}

TEST_CASE("a thread that finds damaged lists does not spoil the results of others", "[gpu][gpu_concurrent][damage]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(97, {3000, 60, 20, false});
  const IndexReader sound = corpus.index(coded(codec_named("newpfd"), {64, 2}, 0));
  IndexSections sections(sound.container());
  const auto list = sound.find("everywhere");
  REQUIRE(list);
  REQUIRE(list->block_offset.size() > 2);
  Bytes& postings = sections.section("postings");
  const std::size_t begin = 4 * (list->first_word + list->block_offset[1]);
  std::memset(postings.data() + begin, 0xff, 4 * list->words.size() - 4 * list->block_offset[1]);
  const IndexReader damaged = sections.open(corpus.pipeline);
  const QueryEngine engine(damaged, {});
  NoProgress progress;
  GpuEngine gpu(engine, {}, progress);
  const QueryAlgorithm& algorithm = algorithm_named("or");
  const std::vector<std::string_view> with_damage(20, "everywhere often"), without(20, "often");
  Analyzer analyzer = engine.make_analyzer();
  const auto expected = engine.search(terms_of_text("often", analyzer), algorithm, 10);
  std::atomic<unsigned> wrong = 0, refused = 0, sound_answers = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        const bool is_damaged = (t + i) % 2 == 0;
        try {
          const Results found = search_texts(gpu, engine, is_damaged ? with_damage : without, algorithm, 10);
          if (is_damaged || !are_same(found, Results(found.size(), expected))) ++wrong;
          ++sound_answers;
        } catch (const CorruptFile&) {
          ++(is_damaged ? refused : wrong);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(refused == 200);
  CHECK(sound_answers == 200);
}

}  // namespace quern
