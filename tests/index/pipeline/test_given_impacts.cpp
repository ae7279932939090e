#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/core/error.hpp"
#include "quern/index/exchange/interchange_format.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/search/intersect.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/exchange/inverted_model.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "sanitized.hpp"
#include "search/read_queries.hpp"

/// Indexes of given weights, and queries of weighted terms.
namespace quern {
namespace {

using namespace testing;

struct WeightedCorpus {
  WeightedCorpus(const Pipeline& pipeline, std::vector<WeightedDocument> corpus, const ImpactSettings& settings,
                 OrderBy by = OrderBy::natural)
      : documents(std::move(corpus)),
        collection(parse_weights(pipeline, as_vector_jsonl(documents), settings)),
        order(pipeline.order(collection, by)) {}

  std::vector<WeightedDocument> documents;
  CollectionReader collection;
  DocumentOrder order;
};

/// Terms with integer weights, some unknown, some repeated.
std::vector<QueryTerm> draw_weighted(RandomBits& random, std::uint64_t max_weight) {
  std::vector<QueryTerm> query;
  for (std::uint64_t some = 1 + random.below(6); some > 0; --some) {
    const std::uint64_t kind = random.below(9);
    const std::string term = kind == 0   ? "unknown"
                             : kind == 1 ? "everywhere"
                             : kind == 2 ? "##often"
                                         : "T" + std::to_string(random.below(1 + random.below(60)));
    query.push_back({term, static_cast<double>(1 + random.below(max_weight))});
  }
  return query;
}

std::vector<ScoredDocument> expected_of(const WeightedCorpus& corpus, const std::vector<QueryTerm>& query,
                                        Matching matching, std::size_t k) {
  const auto best = [&](bool conjunctive) {
    return best_documents(corpus.documents, corpus.order.documents, query, conjunctive, k);
  };
  if (matching == Matching::all_else_any) {
    auto all = best(true);
    if (all.size() == k) return all;
  }
  return best(matching == Matching::all);
}

void check_queries(const IndexReader& index, const WeightedCorpus& corpus, std::uint64_t max_weight) {
  const QueryEngine engine(index, {});
  RandomBits random(max_weight);
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < rounds(30); ++i) {
    const std::vector<QueryTerm> query = draw_weighted(random, max_weight);
    std::vector<QueryTerm> ones = query;
    std::string text;
    for (QueryTerm& term : ones) {
      term.weight = 1;
      text += term.term + (i % 2 == 0 ? " " : "\t\n");
    }
    INFO(query_vector_text(query));
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      INFO(algorithm.name);
      for (const std::size_t k : {1, 4, 2000}) {
        require_same(engine.search(engine.reader().use(query), algorithm, k),
                     expected_of(corpus, query, algorithm.matching, k));
        require_same(engine.search(terms_of_text(text, analyzer), algorithm, k),
                     expected_of(corpus, ones, algorithm.matching, k));
      }
    }
  }
}

std::vector<WeightedDocument> weights_in(const IndexReader& index) {
  std::vector<WeightedDocument> documents(index.num_documents());
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      std::uint64_t cf = 0;
      for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next()) {
        documents[cursor.docid()][std::string(term)] = cursor.freq();
        cf += cursor.freq();
      }
      CHECK(cf == list.cf);
    });
  return documents;
}

}  // namespace

TEST_CASE("every algorithm gives the sums of given weights, with every codec and small blocks",
          "[query][impacts][property]") {
  Pipeline pipeline;
  for (const unsigned bits : {8u, 16u}) {
    const std::uint32_t max_weight = ImpactSettings{bits}.max_weight();
    const WeightedCorpus corpus(pipeline, random_weights(bits, 900, 90, max_weight), {bits}, OrderBy::random);
    for (const Codec* codec : all_codecs()) {
      for (const unsigned block_size : {2u, 8u, 64u}) {
        BuildOptions options;
        options.codec = codec->name;
        options.codec_options.block_size = block_size;
        INFO(bits << " bits, " << coding_text(options));
        const StageFile file = pipeline.build(corpus.collection, corpus.order, options);
        const IndexReader index = Pipeline::open_index(file);
        REQUIRE(index.manifest().impacts.has_value());
        CHECK_NOTHROW(verify_index(index, pipeline.resources));
        check_queries(index, corpus, 40);
      }
    }
  }
}

TEST_CASE("an index has the weights that its corpus gave, and bounds that are exact", "[index][impacts]") {
  Pipeline pipeline;
  const WeightedCorpus corpus(pipeline, random_weights(5, 700, 50, 255), {8}, OrderBy::bisection);
  CHECK_NOTHROW(corpus.collection.verify_contents(pipeline.resources));
  BuildOptions options;
  options.codec_options.block_size = 4;
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
  const std::vector<WeightedDocument> found = weights_in(index);
  std::uint64_t sum = 0;
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const WeightedDocument& document = corpus.documents[corpus.order.documents[docid]];
    REQUIRE(found[docid] == document);
    std::uint64_t length = 0;
    for (const auto& [term, weight] : document) length += weight;
    CHECK(index.length(docid) == length);
    sum += length;
  }
  CHECK(index.manifest().tokens == sum);
  CHECK(index.manifest().impacts == ImpactSettings{8});
  const PostingList list = *index.find("everywhere");
  BlockReader reader(index, list);
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    const auto weights = reader.freqs_of(block);
    const std::uint32_t greatest = *std::max_element(weights.begin(), weights.end());
    CHECK(dequantize_up(list.block_max[block]) * 256 == static_cast<float>(greatest));
    const std::uint16_t places[] = {0, static_cast<std::uint16_t>(weights.size() - 1)};
    freq_t single[2];
    BlockReader(index, list).read_freqs(block, places, single);
    CHECK(single[0] == weights[places[0]]);
    CHECK(single[1] == weights[places[1]]);
  }
}

TEST_CASE("a weighted document that spans several chunks gives the same index", "[index][impacts]") {
  Pipeline pipeline;
  std::vector<WeightedDocument> documents = random_weights(11, 120, 40, 255);
  for (std::uint32_t i = 0; i < 700; ++i) documents[60]["large" + std::to_string(i)] = 1 + i % 255;
  for (std::uint32_t i = 0; i < 90; ++i) documents[61]["T" + std::to_string(i)] = 255 - i;
  const WeightedCorpus whole(pipeline, documents, {8});
  CHECK(whole.collection.split_documents().empty());
  pipeline.chunk_limits = {16, 400};
  const WeightedCorpus split(pipeline, documents, {8});
  CHECK(split.collection.split_documents().size() > 1);
  CHECK_NOTHROW(split.collection.verify_contents(pipeline.resources));
  for (const char* codec : {"maskpfd", "newpfd", "rpfd"}) {
    BuildOptions options;
    options.codec = codec;
    options.codec_options.block_size = 8;
    const IndexReader a = Pipeline::open_index(pipeline.build(whole.collection, whole.order, options));
    const IndexReader b = Pipeline::open_index(pipeline.build(split.collection, split.order, options));
    CHECK(weights_in(b) == documents);
    for (const char* section : {"postings", "lexicon", "impacts", "impact_start", "impact_width", "block_max"})
      CHECK(a.container().find(section).checksum == b.container().find(section).checksum);
  }
}

TEST_CASE("weights are integers of a number of bits, or become such with a scale", "[collection][impacts]") {
  const Pipeline pipeline;
  const auto parse = [&](const std::string& vector, const ImpactSettings& settings) {
    ParseReport report;
    const std::string other = "{\"id\": \"other\", \"vector\": {}}\n";
    try {
      parse_weights(pipeline, "{\"id\": \"D1\", \"vector\": " + vector + "}\n" + other, settings, &report);
    } catch (const InvalidArgument& refused) {
      return std::string("refused: ") + refused.what();
    }
    if (report.bad > 0) return report.bad_documents.front();
    return std::to_string(report.tokens);
  };
  using Catch::Contains;
  CHECK(parse("{\"a\": 1, \"b\": 255, \"zero\": 0}", {8}) == "256");
  CHECK(parse("{\"a\": 65535, \"b\": 2.0}", {16}) == "65537");
  CHECK(parse("{\"a\": 1.5, \"b\": 0.001, \"c\": 0.0}", {8, 100.0}) == "151");
  CHECK_THAT(parse("{\"a\": 256}", {8}), Contains("refused: ") &&
                                             Contains("byte 0: document D1: its term 'a' has the weight 256") &&
                                             Contains(std::string(option_name<"impacts">) + " 8") && Contains("255"));
  CHECK_THAT(parse("{\"a\": 65536}", {16}), Contains("65535"));
  CHECK_THAT(parse("{\"a\": 3}", {8, 100.0}), Contains(std::string("a smaller ") + option_name<"impact-scale">));
  CHECK_THAT(parse("{\"a\": 0.5}", {8}),
             Contains(std::string("must be whole numbers; use ") + option_name<"impact-scale">));
  CHECK_THAT(parse("{\"a\": -1}", {8}), Contains("can't be negative"));
  CHECK_THAT(parse("{\"a\": 1e300}", {8}), Contains("is 255; allow more bits"));
  CHECK_THAT(parse("{\"a\": \"1\"}", {8}), Contains("has a weight that isn't a number"));
  CHECK_THAT(parse("{\"\": 1}", {8}), Contains("is empty"));
  CHECK_THAT(parse("{\"a\": 1, \"b\": 2, \"a\": 1}", {8}), Contains("two weights"));
  CHECK_THAT(parse("{\"" + std::string(256, 'x') + "\": 1}", {8}), Contains("has 256 bytes"));
  CHECK(parse("{\"" + std::string(255, 'x') + "\": 1}", {8}) == "1");
  CHECK_THAT(parse("[1]", {8}), Contains("under the key vector"));
  CHECK_THAT(parse("null", {8}), Contains("under the key vector"));
}

TEST_CASE("options that don't apply to given impacts are refused by name", "[impacts]") {
  using Catch::Contains;
  Pipeline pipeline;
  const WeightedCorpus corpus(pipeline, random_weights(3, 50, 10, 255), {8});
  const auto refused_build = [&](const BuildOptions& options) {
    return [&pipeline, &corpus, options] { pipeline.build(corpus.collection, corpus.order, options); };
  };
  BuildOptions build;
  build.quantize_bits = 8;
  CHECK_THROWS_WITH(refused_build(build)(), Contains(option_name<"quantize">));
  build = {};
  build.bm25.b = 0.5;
  CHECK_THROWS_WITH(refused_build(build)(), Contains(std::string(option_name<"k1">) + " and " + option_name<"b">));
  CHECK_THROWS_WITH(pipeline.order(corpus.collection, OrderBy::score), Contains("score"));
  CHECK_THROWS_WITH(check_forward_memory(corpus.collection, pipeline.resources), Contains(option_name<"forward">));
  ParseOptions parse;
  parse.corpus = {pipeline.folder.write("c.jsonl", "{}")};
  parse.impacts = ImpactSettings{8};
  parse.reader.format = "trectext";
  CHECK_THROWS_WITH(parse_corpus(parse, pipeline.resources, *pipeline.new_file()), Contains("trectext"));
  parse.reader.format = "auto";
  parse.analyzer = make_analyzer_options("porter2", "none");
  CHECK_THROWS_WITH(parse_corpus(parse, pipeline.resources, *pipeline.new_file()), Contains("stemmer"));
  parse.analyzer = {};
  parse.impacts = ImpactSettings{17};
  CHECK_THROWS_WITH(parse_corpus(parse, pipeline.resources, *pipeline.new_file()), Contains("bits of impacts"));

  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  ScoringOptions options;
  options.bm25.k1 = 2;
  CHECK_THROWS_WITH(QueryEngine(index, options), Contains(option_name<"k1">));
  options = {};
  options.idf = Idf::robertson;
  CHECK_THROWS_WITH(QueryEngine(index, options), Contains(option_name<"idf">));
  options = {};
  options.scorer = Scorer::bm25_pagerank;
  CHECK_THROWS_WITH(QueryEngine(index, options), Contains(option_name<"scorer">));
}

TEST_CASE("integer scores need integer query weights, or scale them", "[query][impacts]") {
  using Catch::Contains;
  Pipeline pipeline;
  const WeightedCorpus corpus(pipeline, random_weights(3, 300, 30, 65535), {16});
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  const QueryAlgorithm& any = algorithm_named("or");
  const QueryEngine engine(index, {});
  const auto search = [&](double weight) {
    return [&, weight] { engine.search(engine.reader().use({{"everywhere", weight}}), any, 5); };
  };
  CHECK_NOTHROW(search(3)());
  CHECK_THROWS_WITH(search(0.5)(),
                    Contains("'everywhere' is not a whole number") && Contains(option_name<"query-scale">));
  CHECK_THROWS_WITH(search(-1)(), Contains("the weight -1"));
  CHECK_THROWS_WITH(search(std::numeric_limits<double>::quiet_NaN())(), Contains("weight nan"));
  CHECK_THROWS_WITH(search(std::numeric_limits<double>::infinity())(), Contains("weight inf"));
  CHECK_THROWS_WITH(search(1 << 24)(), Contains("too large"));
  CHECK_THROWS_WITH(search(1000)(), Contains("could score"));
  CHECK(engine.search(engine.reader().use({{"everywhere", 0}}), any, 5).empty());
  // A long term is cut between characters.
  std::string letters;
  for (int i = 0; i < 30; ++i) letters += "\u00e9";
  const std::vector<QueryTerm> long_term = {{"a" + letters, 0.5}};
  CHECK_THROWS_WITH(engine.reader().use(long_term),
                    Contains("'a" + letters.substr(0, 38) + "...' is not a whole number"));

  ScoringOptions options;
  options.query_scale = 100;
  const QueryEngine scaled(index, options);
  const std::vector<QueryTerm> query = {{"everywhere", 0.014}, {"T1", 1e-5}, {"T2", 0.115}};
  require_same(scaled.search(scaled.reader().use(query), any, 50),
               expected_of(corpus, {{"everywhere", 1}, {"T1", 1}, {"T2", 12}}, Matching::any, 50));
  const QueryReader reader = scaled.reader(QueryKind::vector);
  CHECK(reader.read(query_vector_text(query)) == scaled.reader().use(query));
  CHECK_THROWS_WITH(reader.read("water mill"), Contains("the query: is not a JSON object"));
  const std::vector<QueryTerms> batch = {scaled.reader().use(query), {}, {{"T3", 200}}};
  const std::vector<QueryView> views(batch.begin(), batch.end());
  std::vector<std::vector<ScoredDocument>> found;
  CpuBackend backend({&scaled});
  run(backend, {views, &any, 7},
      {{}, [&](std::size_t, const QueryAnswer& answer) { found.push_back(answer.documents); }, 2});
  REQUIRE(found.size() == 3);
  for (std::size_t i = 0; i < batch.size(); ++i) require_same(found[i], scaled.search(batch[i], any, 7));
}

TEST_CASE("a query's terms are read once each, in ascending order, with the sums of their weights", "[query]") {
  const QueryReader exact({}, QueryKind::text, QueryWeights{});
  CHECK(exact.read("b a, b. A b") == QueryTerms{{"a", 2}, {"b", 3}});
  CHECK(exact.read("").empty());
  CHECK(exact.use({{"b", 0.5}, {"a", 0}, {"b", 2}, {"c", 1}}) == QueryTerms{{"b", 2.5}, {"c", 1}});
  CHECK_THROWS_AS(exact.use({{"b", 2}, {"b", -1}}), InvalidArgument);
  const QueryReader scaled({}, QueryKind::vector, QueryWeights{true, 10});
  CHECK(scaled.read(R"({"b": 0.26, "a": 0.001})") == QueryTerms{{"a", 1}, {"b", 3}});
  CHECK(scaled.use({{"b", 0.26}, {"b", 0.26}}) == QueryTerms{{"b", 5}});
  const QueryReader unweighted({}, QueryKind::vector);
  CHECK(unweighted.read(R"({"b": 0.26, "a": 0, "c": 7})") == QueryTerms{{"b", 1}, {"c", 1}});
  // With many of them, in several threads, each is in its place.
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(i % 7 == 0 ? "" : "t" + std::to_string(i));
  ParsedQueries read = exact.read(std::vector<std::string_view>(texts.begin(), texts.end()), 3);
  const ParsedQueries moved = std::move(read);
  REQUIRE(moved.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const QueryView query = moved.views()[i];
    REQUIRE(QueryTerms(query.begin(), query.end()) == (texts[i].empty() ? QueryTerms{} : QueryTerms{{texts[i], 1}}));
  }
}

TEST_CASE("exact scores use real query weights instead of occurrences", "[query][impacts][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(31, {700, 200, 30, false}), OrderBy::url);
  BuildOptions build;
  build.codec_options.block_size = 4;
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, build));
  const QueryEngine engine(index, {});
  RandomBits random(77);
  for (const auto& terms : draw_queries(5, corpus.model, 40)) {
    std::vector<QueryTerm> query;
    std::map<std::string, double> weights;
    for (const std::string& term : terms) {
      if (weights.count(term) > 0) continue;
      const double weight = static_cast<double>(1 + random.below(1000)) / 300;
      query.push_back({term, weights[term] = weight});
    }
    // In the order of summation: by df, then by term.
    std::vector<std::pair<std::size_t, std::string>> sorted;
    bool all_known = true;
    for (const auto& [term, weight] : weights) {
      const auto list = corpus.model.lists().find(term);
      all_known = all_known && list != corpus.model.lists().end();
      if (list != corpus.model.lists().end()) sorted.emplace_back(list->second.size(), term);
    }
    std::sort(sorted.begin(), sorted.end());
    std::map<docid_t, std::pair<float, std::size_t>> scores;
    for (const auto& [df, term] : sorted) {
      const auto weight = static_cast<float>(weights[term] * corpus.model.idf(df) * (1.2 + 1.0));
      for (const ModelPosting& posting : corpus.model.lists().at(term)) {
        auto& [score, count] = scores[posting.docid];
        score += weight * corpus.model.term_score(posting);
        ++count;
      }
    }
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      if (algorithm.matching == Matching::all_else_any) continue;
      INFO(algorithm.name << " " << query_vector_text(query));
      std::vector<ScoredDocument> expected;
      for (const auto& [docid, found] : scores)
        if (algorithm.matching == Matching::any || (all_known && found.second == sorted.size()))
          expected.push_back({docid, found.first});
      std::stable_sort(expected.begin(), expected.end(),
                       [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
      expected.resize(std::min<std::size_t>(expected.size(), 20));
      require_same(engine.search(engine.reader().use(query), algorithm, 20), expected);
    }
  }
  ScoringOptions options;
  options.query_scale = 2;
  CHECK_THROWS_WITH(QueryEngine(index, options), Catch::Contains(option_name<"query-scale">));
}

TEST_CASE("an inverted file with weights as frequencies is imported as an index of weights, and exported again",
          "[interchange][impacts]") {
  Pipeline pipeline;
  const WeightedCorpus corpus(pipeline, random_weights(9, 400, 40, 300), {16});
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  InvertedModel model;
  export_index(index, model, *pipeline.resources.progress);
  ImportOptions options;
  options.source = "model";
  options.format = "test";
  options.build.impacts = ImpactSettings{16};
  const StageFile file = pipeline.new_file();
  import_index([&](InvertedSink& sink) { model.play(sink); }, options, pipeline.resources, *file);
  const IndexReader imported = Pipeline::open_index(file);
  CHECK_NOTHROW(verify_index(imported, pipeline.resources));
  CHECK(imported.manifest().lengths == Lengths::exact);
  CHECK(imported.manifest().analyzer.keeps_words);
  check_queries(imported, corpus, 40);
  InvertedModel again;
  export_index(imported, again, *pipeline.resources.progress);
  CHECK(again.lists == model.lists);
  CHECK(again.documents == model.documents);
  options.build.impacts = ImpactSettings{8};
  CHECK_THROWS_WITH(
      import_index([&](InvertedSink& sink) { model.play(sink); }, options, pipeline.resources, *pipeline.new_file()),
      Catch::Contains(option_name<"impacts">));
}

TEST_CASE("texts next to weights in a corpus are kept on request", "[impacts][texts]") {
  Pipeline pipeline;
  pipeline.store_text = true;
  const std::string line =
      "{\"id\": 1, \"title\": \"The Mill\", \"contents\": \"Two stones.\\n\\nOne lies still.\", \"vector\": {\"a\": "
      "1}}";
  const CollectionReader collection(parse_weights(pipeline, line, {8}));
  CHECK(collection.manifest().terms == 1);
  const DocumentOrder order = pipeline.order(collection);
  pipeline.build(collection, order, {});
  const TextsReader texts = Pipeline::open_texts(pipeline.texts(collection, order));
  TextBuffers buffers;
  std::string text;
  texts.read(0, buffers, [&](std::string_view piece) { text += piece; });
  CHECK(text == "The Mill\nTwo stones.\nOne lies still.\n");
}

}  // namespace quern
