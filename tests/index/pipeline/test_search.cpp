#include <tbb/global_control.h>

#include <bit>
#include <map>
#include <utility>

#include "quern/core/random.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "sanitized.hpp"
#include "search/read_queries.hpp"

/// Results compared with a scorer written only from the description of the scores: bit-equal.
namespace quern {
namespace {

using namespace testing;

void check_queries(const IndexReader& index, const ModelIndex& model,
                   const std::vector<std::vector<std::string>>& queries, const ModelScoring& scoring) {
  ScoringOptions options;
  options.bm25 = {scoring.k1, scoring.b};
  options.idf = scoring.robertson ? Idf::robertson : Idf::lucene;
  if (scoring.quantize_bits > 0) options.scores = Scores::quantized;
  check_engine(QueryEngine(index, options), model, queries, scoring);
}

}  // namespace

TEST_CASE("every algorithm gives the exact bits of a plain scorer, with every codec and block size",
          "[query][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(31, {700, 200, 30, false}), OrderBy::url);
  const auto queries = draw_queries(3, corpus.model, rounds(40));
  for (const BuildOptions& options : all_codings()) {
    INFO(coding_text(options));
    check_queries(Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options)), corpus.model, queries,
                  {});
  }
}

TEST_CASE("every algorithm gives the exact bits of a plain scorer, with blocks of 2 to 8 postings",
          "[query][property]") {
  Pipeline pipeline;
  // Several windows of documents, many blocks in each, and twins whose scores are equal.
  auto documents = random_corpus(47, {1500, 120, 14, false});
  for (std::size_t i = 0, size = documents.size(); i < size; ++i) {
    documents.push_back(documents[i]);
    documents.back().docno += "-twin";
  }
  const ModelledCorpus corpus(pipeline, std::move(documents));
  const auto queries = draw_queries(11, corpus.model, rounds(60));
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 8u}) {
      BuildOptions options;
      options.codec = codec->name;
      options.codec_options.block_size = block_size;
      INFO(coding_text(options));
      const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
      verify_index(index, pipeline.resources);
      check_queries(index, corpus.model, queries, {});
    }
  }
}

TEST_CASE("quantized scores are the sums of a plain scorer's integers", "[query][quantized][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(59, {2600, 150, 16, false}));
  const auto queries = draw_queries(13, corpus.model, rounds(40));
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 8u, 128u}) {
      for (const unsigned bits : {4u, 8u, 16u}) {
        BuildOptions options;
        options.codec = codec->name;
        options.codec_options.block_size = block_size;
        options.quantize_bits = bits;
        INFO(coding_text(options) << ", " << bits << " bits");
        const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
        ModelScoring scoring;
        scoring.quantize_bits = bits;
        check_queries(index, corpus.model, queries, scoring);
        scoring.quantize_bits = 0;
        check_queries(index, corpus.model, {queries.back()}, scoring);
      }
    }
  }
}

TEST_CASE("quantized scores are refused without quantized impacts, or if they could overflow", "[query][quantized]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(61, {200, 600, 60, false}));
  BuildOptions options;
  const IndexReader without = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
  CHECK_THROWS_AS(QueryEngine(without, {{}, Idf::lucene, Scores::quantized}), InvalidArgument);
  options.quantize_bits = 16;
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
  CHECK_THROWS_AS(QueryEngine(index, {{0.9, 0.4}, Idf::lucene, Scores::quantized}), InvalidArgument);
  CHECK_THROWS_AS(QueryEngine(index, {{}, Idf::robertson, Scores::quantized}), InvalidArgument);
  const QueryEngine engine(index, {{}, Idf::lucene, Scores::quantized});
  Analyzer analyzer = engine.make_analyzer();
  // Short lists count with the maximum integer, 2^16 - 1 each, so 256 of them stay below 2^24.
  std::vector<std::string> terms;
  for (const auto& [term, postings] : corpus.model.lists())
    if (postings.size() <= 16 && terms.size() < 257) terms.push_back(term);
  REQUIRE(terms.size() == 257);
  CHECK_THROWS_AS(engine.search(terms_of_text(text_of(terms), analyzer), all_algorithms().front(), 10),
                  InvalidArgument);
  terms.pop_back();
  ModelScoring scoring;
  scoring.quantize_bits = 16;
  check_queries(index, corpus.model, {terms}, scoring);
}

TEST_CASE("queries of a thousand terms give the exact bits of a plain scorer", "[query][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(53, {2500, 1200, 40, false}), OrderBy::url);
  std::vector<std::string> terms;
  for (const auto& list : corpus.model.lists()) terms.push_back(list.first);
  REQUIRE(terms.size() >= 1000);
  terms.resize(1000);
  // Some repeated often, so that weights differ, and an unknown one.
  for (std::size_t i = 0; i < 200; ++i) terms.push_back(terms[i * i % 7]);
  std::vector<std::string> with_unknown = terms;
  with_unknown.push_back("unknown");
  BuildOptions options;
  options.codec_options.block_size = 8;
  check_queries(Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options)), corpus.model,
                {terms, with_unknown}, {});
}

TEST_CASE("other k1, b and IDF give the exact bits of a plain scorer", "[query][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(37, {300, 100, 60, true}));
  const auto queries = draw_queries(5, corpus.model, rounds(60));
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  for (const ModelScoring& scoring :
       {ModelScoring{1.2, 0.75, true}, ModelScoring{0.9, 0.4, false}, ModelScoring{0, 0.75, false},
        ModelScoring{2, 1, true}, ModelScoring{1000, 0, false}})
    check_queries(index, corpus.model, queries, scoring);
}

TEST_CASE("ties go to the lower docID, for any k", "[query]") {
  Pipeline pipeline;
  std::vector<ModelDocument> documents(200);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    documents[i].docno = "D" + std::to_string(i);
    documents[i].body = i % 3 == 0 ? "same same" : "same other";
    documents[i].tokens = {"same", i % 3 == 0 ? "same" : "other"};
  }
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  const DocumentOrder order = pipeline.order(collection);
  const ModelIndex model(documents, order.documents);
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t k = 1; k <= 201; ++k) {
    for (const QueryAlgorithm& algorithm : all_algorithms())
      require_same(engine.search(terms_of_text("same", analyzer), algorithm, k),
                   expected_results(model, {"same"}, algorithm.matching, k));
  }
  CHECK(engine.search(terms_of_text("same", analyzer), all_algorithms().front(), 2)[1].docid == 3);
}

TEST_CASE("a document's score is the same bits in every docID order", "[query][order][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(41, {250, 80, 40, false});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  std::vector<std::map<std::string, float>> scores;
  for (const OrderMethod& method : all_orders()) {
    const DocumentOrder order = pipeline.order(collection, method.by, 9);
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
    const QueryEngine engine(index, {});
    Analyzer analyzer = engine.make_analyzer();
    auto& found = scores.emplace_back();
    for (const auto& document :
         engine.search(terms_of_text("everywhere w0 w1 often w2", analyzer), all_algorithms().front(), 1000))
      found[std::string(index.docno(document.docid))] = document.score;
  }
  CHECK(scores[0].size() > 200);
  for (const auto& found : scores) CHECK(found == scores[0]);
}

TEST_CASE("a batch gives each query's results in order, for any number of threads", "[query][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(43, {200, 80, 40, false}));
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  const QueryEngine engine(index, {});
  const auto queries = draw_queries(7, corpus.model, 5000);  // more than are held at a time
  std::vector<std::string> texts;
  for (const auto& terms : queries) texts.push_back(text_of(terms));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (const unsigned threads : {1u, 2u, 4u}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    std::size_t next = 0;
    AnswerConsumer consumer;
    consumer.threads = threads;
    consumer.render = [](std::size_t i, QueryAnswer& answer) { answer.text = std::to_string(i); };
    consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
      REQUIRE(i == next++);
      REQUIRE(answer.text == std::to_string(i));
      if (i % 10 == 0) require_same(answer.documents, corpus.model.search(queries[i], false, 5));
    };
    CpuBackend backend({&engine});
    const ParsedQueries read = engine.reader().read(views, threads);
    run(backend, {read.views(), &all_algorithms().front(), 5}, consumer);
    CHECK(next == queries.size());
  }
}

}  // namespace quern
