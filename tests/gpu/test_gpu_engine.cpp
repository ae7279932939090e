#include "quern/gpu/engine/gpu_engine.hpp"

#include "catch.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/query_checks.hpp"
#include "pipeline/ranked_pages.hpp"

/// The GPU finds what the CPU finds: the same documents, the same bits of scores.
namespace quern {
namespace {

using namespace testing;

/// All algorithms, for some numbers of results, in small batches and in one.
void check_gpu(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries) {
  std::vector<std::string> texts;
  for (const auto& terms : queries) texts.push_back(text_of(terms));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  NoProgress progress;
  Analyzer analyzer = engine.make_analyzer();
  for (const std::size_t batch : {std::size_t{7}, std::size_t{4096}}) {
    GpuOptions options;
    options.batch_queries = batch;
    GpuEngine gpu(engine, options, progress);
    for (const gpu::Strategy& strategy : gpu::all_strategies()) {
      gpu.set_strategy(strategy, {}, progress);
      for (const QueryAlgorithm& algorithm : all_algorithms()) {
        for (const std::size_t k : {1, 3, 1000}) {
          GpuStatistics statistics;
          const auto answers = gpu.search(views, algorithm, k, &statistics);
          REQUIRE(answers.size() == texts.size());
          CHECK(statistics.on_cpu == 0);
          for (std::size_t i = 0; i < texts.size(); ++i) {
            INFO(strategy.name << ", " << algorithm.name << ", k " << k << ", batches of " << batch << ", query " << i
                               << ": " << texts[i]);
            require_same(answers[i], engine.search(texts[i], algorithm, k, analyzer));
          }
        }
      }
    }
  }
}

/// A corpus, and checks over the indexes that are built of it.
struct QueryCorpus {
  explicit QueryCorpus(Pipeline& pipeline, std::uint64_t seed, const CorpusShape& shape)
      : documents(random_corpus(seed, shape)),
        collection(pipeline.parse(as_jsonl(documents))),
        order(pipeline.order(collection)),
        model(documents, order.documents) {}
  /// Exact scores, and quantized ones where the options bring such impacts.
  void check(Pipeline& pipeline, const BuildOptions& options,
             const std::vector<std::vector<std::string>>& queries) const {
    INFO(coding_text(options) << ", " << options.quantize_bits << " bits");
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, options));
    check_gpu(QueryEngine(index, {}), queries);
    if (options.quantize_bits == 0) return;
    ScoringOptions scoring;
    scoring.scores = Scores::quantized;
    check_gpu(QueryEngine(index, scoring), queries);
  }

  std::vector<ModelDocument> documents;
  CollectionReader collection;
  DocumentOrder order;
  ModelIndex model;
};

}  // namespace

TEST_CASE("the GPU gives the CPU's results over every coding", "[gpu][query][property]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  const QueryCorpus corpus(pipeline, 31, {1500, 200, 30, false});
  const auto queries = draw_queries(3, corpus.model, 60);
  for (const BuildOptions& options : all_codings()) corpus.check(pipeline, options, queries);
}

TEST_CASE("the GPU gives the CPU's results over blocks of 2 to 16 postings", "[gpu][query][property]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  const QueryCorpus corpus(pipeline, 47, {2000, 120, 14, false});
  const auto queries = draw_queries(11, corpus.model, 60);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 16u}) {
      for (const unsigned bits : {4u, 8u, 16u}) {
        BuildOptions options;
        options.codec = codec->name();
        options.codec_options.block_size = block_size;
        options.quantize_bits = bits;
        corpus.check(pipeline, options, queries);
      }
    }
  }
}

TEST_CASE("each coding is decoded, united and intersected within bounds", "[gpu][sanitize]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  const QueryCorpus corpus(pipeline, 71, {600, 80, 20, false});
  const auto queries = draw_queries(17, corpus.model, 12);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned recursion : codec->name() == "rpfd" ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{2}) {
      BuildOptions options;
      options.codec = codec->name();
      options.codec_options = {64, recursion};
      options.quantize_bits = 8;
      corpus.check(pipeline, options, queries);
    }
  }
}

TEST_CASE("the GPU gives the CPU's results for other k1, b and IDF", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  const QueryCorpus corpus(pipeline, 53, {1200, 150, 40, false});
  const auto queries = draw_queries(5, corpus.model, 40);
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  for (const Bm25Parameters& bm25 : {Bm25Parameters{0.9, 0.4}, Bm25Parameters{0, 0}, Bm25Parameters{1000, 1}})
    check_gpu(QueryEngine(index, {bm25, Idf::robertson}), queries);
}

TEST_CASE("the GPU gives the CPU's results with PageRank, whether it may stop early or not", "[gpu][query][property]") {
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

TEST_CASE("queries of many terms are answered by the GPU, of more than 64 by the CPU", "[gpu][query]") {
  SKIP_WITHOUT_GPU();
  Pipeline pipeline;
  const QueryCorpus corpus(pipeline, 59, {1500, 300, 60, false});
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  const QueryEngine engine(index, {});
  std::vector<std::string> terms;
  for (const auto& list : corpus.model.lists()) terms.push_back(list.first);
  std::vector<std::vector<std::string>> queries;
  for (const std::size_t size : {30, 32, 33, 63, 64}) queries.emplace_back(terms.begin(), terms.begin() + size);
  check_gpu(engine, queries);
  const std::string text = text_of({terms.begin(), terms.begin() + 65});
  NoProgress progress;
  GpuEngine gpu(engine, {}, progress);
  GpuStatistics statistics;
  Analyzer analyzer = engine.make_analyzer();
  const std::string_view view = text;
  const QueryAlgorithm& algorithm = all_algorithms().front();
  require_same(gpu.search({&view, 1}, algorithm, 10, &statistics).front(),
               engine.search(text, algorithm, 10, analyzer));
  CHECK(statistics.on_cpu == 1);
}

}  // namespace quern
