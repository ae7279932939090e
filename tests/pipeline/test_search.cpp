#include <tbb/global_control.h>

#include <bit>
#include <map>

#include "quern/core/random.hpp"
#include "quern/query/query_engine.hpp"

#include "catch.hpp"
#include "pipeline/model_index.hpp"
#include "pipeline/pipeline.hpp"

/// Results against a scorer that was written from the description of the scores alone: the same bits.
namespace quern {
namespace {

using namespace testing;

std::vector<std::string> draw_query(RandomBits& random, const std::vector<std::string>& terms) {
  std::vector<std::string> query;
  const std::size_t size = 1 + random.below(6);
  while (query.size() < size) {
    const std::uint64_t kind = random.below(12);
    if (kind == 0) {
      query.push_back("unknown" + std::to_string(random.below(3)));
    } else if (kind == 1) {
      query.push_back("everywhere");
    } else if (kind == 2) {
      query.push_back("often");
    } else if (kind == 3 && !query.empty()) {
      query.push_back(query[random.below(query.size())]);
    } else {
      query.push_back(terms[random.below(terms.size())]);
    }
  }
  return query;
}

std::vector<std::vector<std::string>> draw_queries(std::uint64_t seed, const ModelIndex& model, std::size_t count) {
  RandomBits random(seed);
  std::vector<std::string> terms;
  for (const auto& list : model.lists()) terms.push_back(list.first);
  std::vector<std::vector<std::string>> queries = {
      {"unknown"}, {"unknown", "unknown2"}, {}, {"everywhere"}, {"often", "everywhere", "often"}};
  while (queries.size() < count) queries.push_back(draw_query(random, terms));
  return queries;
}

std::string text_of(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& term : terms) text += term + " ";
  return text;
}

void require_same(const std::vector<ScoredDocument>& found, const std::vector<ScoredDocument>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("rank " << i + 1);
    REQUIRE(found[i].docid == expected[i].docid);
    REQUIRE(std::bit_cast<std::uint32_t>(found[i].score) == std::bit_cast<std::uint32_t>(expected[i].score));
  }
}

/// What an algorithm must find.
std::vector<ScoredDocument> expected_results(const ModelIndex& model, const std::vector<std::string>& terms,
                                             Matching matching, std::size_t k, const ModelScoring& scoring = {}) {
  if (matching == Matching::all_else_any) {
    auto all = model.search(terms, true, k, scoring);
    if (all.size() == k) return all;
  }
  return model.search(terms, matching == Matching::all, k, scoring);
}

void check_queries(const IndexReader& index, const ModelIndex& model,
                   const std::vector<std::vector<std::string>>& queries, const ModelScoring& scoring) {
  ScoringOptions options;
  options.bm25 = {scoring.k1, scoring.b};
  options.idf = scoring.robertson ? Idf::robertson : Idf::lucene;
  const QueryEngine engine(index, options);
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& terms : queries) {
    const std::string text = text_of(terms);
    INFO("query " << text);
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      INFO(algorithm.name);
      for (const std::size_t k : {1, 3, 1000}) {
        require_same(engine.search(text, algorithm, k, analyzer),
                     expected_results(model, terms, algorithm.matching, k, scoring));
      }
    }
  }
}

}  // namespace

TEST_CASE("every algorithm over every coding gives the very bits of a plain scorer", "[query][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(31, {700, 200, 30, false});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  const DocumentOrder order = pipeline.order(collection, {"url", 1});
  const ModelIndex model(documents, order.documents);
  const auto queries = draw_queries(3, model, 40);
  for (const BuildOptions& options : all_codings()) {
    INFO(coding_text(options));
    check_queries(Pipeline::open_index(pipeline.build(collection, order, options)), model, queries, {});
  }
}

TEST_CASE("other k1, b and IDF give the very bits of a plain scorer", "[query][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(37, {300, 100, 60, true});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  const DocumentOrder order = pipeline.order(collection, {"natural", 1});
  const ModelIndex model(documents, order.documents);
  const auto queries = draw_queries(5, model, 60);
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  for (const ModelScoring& scoring :
       {ModelScoring{1.2, 0.75, true}, ModelScoring{0.9, 0.4, false}, ModelScoring{0, 0.75, false},
        ModelScoring{2, 1, true}, ModelScoring{1000, 0, false}})
    check_queries(index, model, queries, scoring);
}

TEST_CASE("ties go to the lower docID, whatever k cuts", "[query]") {
  Pipeline pipeline;
  std::vector<ModelDocument> documents(200);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    documents[i].docno = "D" + std::to_string(i);
    documents[i].body = i % 3 == 0 ? "same same" : "same other";
    documents[i].tokens = {"same", i % 3 == 0 ? "same" : "other"};
  }
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  const DocumentOrder order = pipeline.order(collection, {"natural", 1});
  const ModelIndex model(documents, order.documents);
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t k = 1; k <= 201; ++k) {
    for (const QueryAlgorithm& algorithm : all_algorithms())
      require_same(engine.search("same", algorithm, k, analyzer),
                   expected_results(model, {"same"}, algorithm.matching, k));
  }
  CHECK(engine.search("same", all_algorithms().front(), 2, analyzer)[1].docid == 3);
}

TEST_CASE("a document's score is the same bits in every docID order", "[query][order][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(41, {250, 80, 40, false});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  std::vector<std::map<std::string, float>> scores;
  for (const OrderMethod* method : all_orders()) {
    const DocumentOrder order = pipeline.order(collection, {std::string(method->name()), 9});
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
    const QueryEngine engine(index, {});
    Analyzer analyzer = engine.make_analyzer();
    auto& found = scores.emplace_back();
    for (const auto& document : engine.search("everywhere w0 w1 often w2", all_algorithms().front(), 1000, analyzer))
      found[std::string(index.docno(document.docid))] = document.score;
  }
  CHECK(scores[0].size() > 200);
  CHECK(scores[0] == scores[1]);
  CHECK(scores[0] == scores[2]);
}

TEST_CASE("a batch gives each query's results in order, for any number of threads", "[query][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(43, {200, 80, 40, false});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  const DocumentOrder order = pipeline.order(collection, {"natural", 1});
  const ModelIndex model(documents, order.documents);
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  const QueryEngine engine(index, {});
  const auto queries = draw_queries(7, model, 5000);  // more than are held at once
  std::vector<std::string> texts;
  for (const auto& terms : queries) texts.push_back(text_of(terms));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (const unsigned threads : {1u, 2u, 4u}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    std::size_t next = 0;
    run_batch(engine, views, all_algorithms().front(), 5, threads, [&](std::size_t i, const QueryAnswer& answer) {
      REQUIRE(i == next++);
      if (i % 10 == 0) require_same(answer.documents, model.search(queries[i], false, 5));
    });
    CHECK(next == queries.size());
  }
}

}  // namespace quern
