#include <nlohmann/json.hpp>

#include <numeric>

#include "quern/formats/posting_reader.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/plain_weights.hpp"
#include "index/pipeline/query_checks.hpp"
#include "sanitized.hpp"

/// Indexes that store the weights of a model, compared with weights computed plainly from the documents.
namespace quern {
namespace {

using namespace testing;

std::vector<ScoredDocument> expected_of(const std::vector<WeightedDocument>& weights,
                                        const std::vector<std::string>& terms, Matching matching, std::size_t k) {
  std::vector<docid_t> docids(weights.size());
  std::iota(docids.begin(), docids.end(), 0u);
  std::vector<QueryTerm> query;
  for (const std::string& term : terms) query.push_back({term, 1});
  const auto best = [&](bool conjunctive) { return best_documents(weights, docids, query, conjunctive, k); };
  if (matching == Matching::all_else_any) {
    auto all = best(true);
    if (all.size() == k) return all;
  }
  return best(matching == Matching::all);
}

void check_stored(const IndexReader& index, const ModelIndex& model, const std::vector<WeightedDocument>& weights) {
  for (const auto& [term, postings] : model.lists()) {
    const auto list = index.find(term);
    REQUIRE(list);
    std::uint64_t cf = 0;
    PostingCursor cursor(index, *list);
    bool same = true;
    for (const ModelPosting& posting : postings) {
      cf += posting.freq;
      same = same && cursor.docid() == posting.docid && cursor.freq() == weights[posting.docid].at(term);
      cursor.next();
    }
    INFO(term);
    REQUIRE(same);
    REQUIRE(cursor.docid() == end_docid);
    REQUIRE((list->df == postings.size() && list->cf == cf && list->whole_cf == cf));
  }
  CHECK(index.manifest().tokens == model.tokens());
  for (docid_t docid = 0; docid < index.num_documents(); ++docid)
    REQUIRE(index.length(docid) == model.documents()[docid]->tokens.size());
}

void check_results(const IndexReader& index, const std::vector<WeightedDocument>& weights,
                   const std::vector<std::vector<std::string>>& queries) {
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& terms : queries) {
    const std::string text = text_of(terms);
    INFO("query " << text);
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      INFO(algorithm.name);
      for (const std::size_t k : {1, 3, 1000})
        require_same(engine.search(terms_of_text(text, analyzer), algorithm, k),
                     expected_of(weights, terms, algorithm.matching, k));
    }
  }
}

}  // namespace

TEST_CASE("weights of models are those of a plain computation, with every codec and small blocks",
          "[index][weighting][query][property]") {
  Pipeline pipeline;
  auto documents = random_corpus(71, {300, 90, 25, false});
  draw_titles(documents, 5);
  const ModelledCorpus corpus(pipeline, documents, OrderBy::random);
  const auto queries = draw_queries(17, corpus.model, rounds(15));
  unsigned number = 0;
  for (const Weighting& weighting : some_weightings()) {
    for (const Codec* codec : all_codecs()) {
      BuildOptions options;
      options.codec = codec->name;
      options.codec_options.block_size = std::array{2u, 4u, 64u}[number % 3];
      options.weighting = weighting;
      options.quantize_bits = std::array{0u, 8u, 5u, 16u}[number++ % 4];
      INFO(weighting_text(weighting) << ", " << coding_text(options) << ", " << options.quantize_bits << " bits");
      const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
      verify_index(index, pipeline.resources);
      CHECK(index.manifest().weighting == weighting);
      const unsigned bits = options.quantize_bits > 0 ? options.quantize_bits : usual_weight_bits;
      const auto weights = plain_weights(corpus.model, weighting, bits);
      check_stored(index, corpus.model, weights);
      check_results(index, weights, queries);
    }
  }
}

TEST_CASE("an index of weights has the same bytes for any threads and memory", "[index][weighting][property]") {
  const std::string corpus = as_jsonl(random_corpus(53, {400, 3000, 150, true}));
  for (const char* model : {"qld", "bm25f"}) {
    Bytes wanted;
    for (const unsigned threads : {1u, 4u}) {
      for (const std::uint64_t memory : {std::uint64_t{17} << 20, std::uint64_t{1} << 30}) {
        Pipeline pipeline;
        pipeline.resources.threads = threads;
        const CollectionReader collection(pipeline.parse(corpus));
        pipeline.resources.memory_bytes = memory;
        BuildOptions options;
        options.weighting = read_weighting(model);
        const Bytes bytes = bytes_of(*pipeline.build(collection, pipeline.order(collection, OrderBy::url), options));
        if (wanted.empty()) wanted = bytes;
        CHECK(bytes == wanted);
      }
    }
  }
}

TEST_CASE("bm25f is bm25 where fields make no difference", "[index][weighting]") {
  Pipeline pipeline;
  auto documents = random_corpus(29, {120, 90, 25, false});
  draw_titles(documents, 7);
  auto untitled = documents;
  for (ModelDocument& document : untitled) {
    document.tokens.erase(document.tokens.begin(),
                          document.tokens.begin() + static_cast<std::ptrdiff_t>(title_length(document)));
    document.title.clear();
  }
  const ModelledCorpus titles(pipeline, documents), none(pipeline, untitled);
  CHECK(none.collection.manifest().title_tokens == 0);
  const auto open = [&](const ModelledCorpus& corpus, const char* weights) {
    BuildOptions options;
    options.weighting = read_weighting(weights);
    return Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
  };
  // The greatest difference of a stored weight.
  const auto difference = [&](const ModelledCorpus& corpus, const char* one, const char* other) {
    const IndexReader first = open(corpus, one), second = open(corpus, other);
    std::uint32_t greatest = 0;
    for (const auto& [term, postings] : corpus.model.lists())
      for (PostingCursor a(first, *first.find(term)), b(second, *second.find(term)); a.docid() != end_docid;
           a.next(), b.next())
        greatest = std::max(greatest, std::max(a.freq(), b.freq()) - std::min(a.freq(), b.freq()));
    return greatest;
  };
  CHECK(difference(titles, "bm25f:title=1,title_b=0,body_b=0", "bm25:b=0") == 0);
  CHECK(difference(titles, "bm25f", "bm25") > 100);
  CHECK(difference(none, "bm25f:title=9,title_b=1,body_b=0.6,k1=2", "bm25:b=0.6,k1=2") <= 1);
}

TEST_CASE("bm25f needs the number of tokens in titles, which earlier collections lack", "[index][weighting]") {
  Pipeline pipeline;
  const std::vector<ModelDocument> documents = random_corpus(31, {60, 90, 25, false});
  const ModelledCorpus corpus(pipeline, documents);
  const auto with_count = [&](std::optional<std::uint64_t> title_tokens) -> std::shared_ptr<const File> {
    Sections sections = sections_of(corpus.collection.container());
    Bytes& manifest = sections.back().second;
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(manifest);
    json["counts"].erase("title_tokens");
    if (title_tokens) json["counts"]["title_tokens"] = *title_tokens;
    const std::string text = json.dump();
    manifest.assign(text.begin(), text.end());
    return std::make_shared<const File>(container_file(pipeline.resources.tmp_folder, FileKind::collection, sections));
  };
  std::uint64_t title_tokens = 0;
  for (const ModelDocument& document : documents) title_tokens += title_length(document);
  CHECK(corpus.collection.manifest().title_tokens == title_tokens);
  CHECK_NOTHROW(corpus.collection.verify_contents(pipeline.resources));
  const CollectionReader earlier(with_count(std::nullopt));
  CHECK_NOTHROW(earlier.verify_contents(pipeline.resources));
  CHECK_THROWS_AS(CollectionReader(with_count(title_tokens + 1)).verify_contents(pipeline.resources), CorruptFile);
  CHECK_THROWS_AS(CollectionReader(with_count(corpus.model.tokens() + 1)), CorruptFile);
  const auto joined = [&](std::optional<std::uint64_t> first, std::optional<std::uint64_t> second) {
    return CollectionReader({with_count(first), with_count(second)}).manifest().title_tokens;
  };
  CHECK(joined(3, 4) == 7);
  CHECK_FALSE(joined(3, std::nullopt));
  CHECK_FALSE(joined(std::nullopt, 4));

  BuildOptions options;
  options.weighting = read_weighting("bm25");
  CHECK_NOTHROW(pipeline.build(earlier, corpus.order, options));
  options.weighting = read_weighting("bm25f");
  CHECK_NOTHROW(pipeline.build(corpus.collection, corpus.order, options));
  CHECK_THROWS_WITH(pipeline.build(earlier, corpus.order, options), Catch::Contains("parse the corpus again"));
  CollectionContext whole;
  whole.docids = {0, corpus.collection.num_documents()};
  whole.statistics = {60, corpus.model.tokens()};
  CHECK_THROWS_WITH(
      build_index(corpus.collection, corpus.order, {}, options, pipeline.resources, *pipeline.new_file(), &whole),
      Catch::Contains("its statistics do not say") && Catch::Contains("create its statistics again"));
}

TEST_CASE("options that weights of a model don't allow are refused", "[index][weighting]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(3, {30, 20, 10, false}));
  BuildOptions options;
  options.weighting = read_weighting("pl2");
  options.bm25.k1 = 2;
  CHECK_THROWS_AS(pipeline.build(corpus.collection, corpus.order, options), InvalidArgument);
  options.bm25 = {};
  options.quantize_bits = 17;
  CHECK_THROWS_AS(pipeline.build(corpus.collection, corpus.order, options), InvalidArgument);
  options.quantize_bits = 0;
  const CollectionReader given(
      parse_weights(pipeline, as_vector_jsonl(random_weights(1, 20, 5, 9)), ImpactSettings{8}));
  CHECK_THROWS_AS(pipeline.build(given, pipeline.order(given), options), InvalidArgument);
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
  CHECK_THROWS_AS(QueryEngine(index, {{2, 0.75}}), InvalidArgument);
  CHECK_THROWS_AS(QueryEngine(index, {{}, Idf::robertson}), InvalidArgument);
  ScoringOptions pagerank;
  pagerank.scorer = Scorer::bm25_pagerank;
  CHECK_THROWS_AS(QueryEngine(index, pagerank), InvalidArgument);
}

}  // namespace quern
