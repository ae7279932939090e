#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/random_documents.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "search/read_queries.hpp"

/// The GPU finds the CPU's documents, with the same bits of scores.
namespace quern {
namespace {

using namespace testing;

/// Ways of answering queries: in small batches, in a single one, and in one that decodes lists before intersecting
/// them.
struct GpuWay {
  std::size_t batch;
  gpu::StrategyOptions options;
};
const GpuWay gpu_ways[] = {{7, {.round = 32}}, {4096, {}}, {4096, {.decodes_always = true}}};

/// Compares filtered results with the CPU's; strategies without filters must refuse them.
void check_filter(const QueryEngine& engine, GpuEngine& gpu, const gpu::Strategy& strategy,
                  const QueryAlgorithm& algorithm, const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  Analyzer analyzer = engine.make_analyzer();
  RandomBits random(3);
  for (const std::uint64_t one_in : {1, 3, 40}) {
    const DocumentSet passing = random_documents(engine.index().num_documents(), one_in, random);
    if (!strategy.filters) {
      CHECK_THROWS_AS(search_texts(gpu, engine, views, algorithm, 3, nullptr, &passing), InvalidArgument);
      return;
    }
    GpuStatistics statistics;
    const auto answers = search_texts(gpu, engine, views, algorithm, 3, &statistics, &passing);
    CHECK(statistics.on_cpu == 0);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      INFO(algorithm.name << ", a filter of one document in " << one_in << ", query " << i << ": " << texts[i]);
      require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm, 3, nullptr, &passing));
    }
  }
}

/// Compares all strategies and algorithms with the CPU, for several k and in every way.
void check_gpu(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries) {
  std::vector<std::string> texts;
  for (const auto& terms : queries) texts.push_back(text_of(terms));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  NoProgress progress;
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& [batch, strategy_options] : gpu_ways) {
    GpuEngine gpu(engine, {.batch_queries = batch}, progress);
    for (const gpu::Strategy& strategy : gpu::all_strategies()) {
      if (strategy_options.decodes_always && strategy.decodes_lists == nullptr) continue;
      gpu.set_strategy(strategy, strategy_options, progress);
      for (const QueryAlgorithm& algorithm : all_algorithms()) {
        if (!gpu::answers(strategy, algorithm)) {
          CHECK_THROWS_AS(search_texts(gpu, engine, views, algorithm, 3), InvalidArgument);
          continue;
        }
        for (const std::size_t k : {1, 3, 1000}) {
          GpuStatistics statistics;
          const auto answers = search_texts(gpu, engine, views, algorithm, k, &statistics);
          REQUIRE(answers.size() == texts.size());
          CHECK(statistics.on_cpu == 0);
          for (std::size_t i = 0; i < texts.size(); ++i) {
            INFO(strategy.name << ", " << algorithm.name << ", k " << k << ", batches of " << batch << ", query " << i
                               << ": " << texts[i]);
            require_same(answers[i], engine.search(terms_of_text(texts[i], analyzer), algorithm, k));
          }
        }
        check_filter(engine, gpu, strategy, algorithm, texts);
      }
    }
  }
}

void check_index(IndexedCorpus& corpus, const BuildOptions& options,
                 const std::vector<std::vector<std::string>>& queries) {
  check_coding(corpus, options, [&](const QueryEngine& engine) { check_gpu(engine, queries); });
}

}  // namespace

TEST_CASE("the GPU gives the CPU's results over every coding", "[gpu][query][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(31, {1500, 200, 30, false});
  const auto queries = draw_queries(3, corpus.model, 60);
  for (const BuildOptions& options : all_codings()) check_index(corpus, options, queries);
}

TEST_CASE("the GPU gives the CPU's results over blocks of 2 to 16 postings", "[gpu][query][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(47, {2000, 120, 14, false});
  const auto queries = draw_queries(11, corpus.model, 60);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 16u}) {
      for (const unsigned bits : {4u, 8u, 16u}) check_index(corpus, coded(*codec, {block_size}, bits), queries);
    }
  }
}

TEST_CASE("each coding is decoded, united and intersected within bounds", "[gpu][sanitize]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(71, {600, 80, 20, false});
  const auto queries = draw_queries(17, corpus.model, 12);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned recursion : codec->name == "rpfd" ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{2}) {
      check_index(corpus, coded(*codec, {64, recursion}, 8), queries);
    }
  }
}

TEST_CASE("the GPU gives the CPU's results for other k1, b and IDF", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(53, {1200, 150, 40, false});
  const auto queries = draw_queries(5, corpus.model, 40);
  const IndexReader index = corpus.index({});
  for (const Bm25Parameters& bm25 : {Bm25Parameters{0.9, 0.4}, Bm25Parameters{0, 0}, Bm25Parameters{1000, 1}})
    check_gpu(QueryEngine(index, {bm25, Idf::robertson}), queries);
}

TEST_CASE("the GPU gives the CPU's results with PageRank, with and without early termination",
          "[gpu][query][property]") {
  SKIP_WITHOUT_GPU();
  RankedPages pages(67, {1100, 120, 14, false});
  for (const double alpha : {0.0, 0.3, 1.0}) {
    for (const OrderBy by : {OrderBy::score, OrderBy::natural}) {
      const DocumentOrder order = pages.order(by, alpha);
      const auto queries = draw_queries(17, ModelIndex(pages.documents, order.documents), 40);
      for (const unsigned block_size : {8u, 128u}) {
        INFO("alpha " << alpha << ", order " << name_of_value(order_names, by) << ", blocks of " << block_size);
        const IndexReader index = pages.index(order, alpha, blocks_of(block_size));
        for (const bool early : {true, false}) check_gpu(QueryEngine(index, with_pagerank(alpha, early)), queries);
      }
    }
  }
}

TEST_CASE("the GPU gives the CPU's results over given impacts", "[gpu][query][impacts][property]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  for (const unsigned bits : {8u, 16u}) {
    const auto weights = as_vector_jsonl(random_weights(7, 1500, 60, bits == 8 ? 255 : 65535));
    const CollectionReader collection(parse_weights(pipeline, weights, {bits}));
    const std::vector<std::vector<std::string>> queries = {
        {"everywhere"}, {"everywhere", "##often"}, {"T1", "T2", "T1"}, {"T0", "T3", "##often"}, {"T9", "unknown"}};
    for (const Codec* codec : all_codecs()) {
      for (const unsigned block_size : {8u, 128u}) {
        const BuildOptions options = coded(*codec, {block_size, 1});
        INFO(coding_text(options) << ", weights of " << bits << " bits");
        const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
        check_gpu(QueryEngine(index, {}), queries);
      }
    }
  }
}

TEST_CASE("the GPU answers queries with up to 64 terms, the CPU those with more", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(59, {1500, 300, 60, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  const std::vector<std::string> terms = corpus.terms(65);
  std::vector<std::vector<std::string>> queries;
  for (const std::size_t size : {30, 32, 33, 63, 64}) queries.emplace_back(terms.begin(), terms.begin() + size);
  check_gpu(engine, queries);
  const std::string text = text_of(terms);
  NoProgress progress;
  GpuEngine gpu(engine, {}, progress);
  GpuStatistics statistics;
  Analyzer analyzer = engine.make_analyzer();
  const std::string_view view = text;
  const QueryAlgorithm& algorithm = all_algorithms().front();
  require_same(search_texts(gpu, engine, {&view, 1}, algorithm, 10, &statistics).front(),
               engine.search(terms_of_text(text, analyzer), algorithm, 10));
  CHECK(statistics.on_cpu == 1);
}

TEST_CASE("an engine with a strategy refuses algorithms that it does not support", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(61, {700, 60, 14, false});
  const IndexReader index = corpus.index({});
  const QueryEngine engine(index, {});
  NoProgress progress;
  GpuEngine gpu(engine, {.strategy = &gpu::strategy_named("wang")}, progress);
  Analyzer analyzer = engine.make_analyzer();
  const std::string_view text = "everywhere often";
  CHECK_THROWS_AS(search_texts(gpu, engine, {&text, 1}, algorithm_named("and-or"), 10), InvalidArgument);
  require_same(search_texts(gpu, engine, {&text, 1}, algorithm_named("and"), 2048).front(),
               engine.search(terms_of_text(text, analyzer), algorithm_named("and"), 2048));
}

}  // namespace quern
