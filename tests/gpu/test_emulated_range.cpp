#include "gpu/range_on_host.hpp"
//
#include <initializer_list>

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/random_documents.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// The kernels of the strategy `range`, run by an emulated GPU, give the CPU's results.
namespace quern {
namespace {

using namespace testing;

void check_way(HostIndex& index, const std::vector<std::vector<std::string>>& queries, const QueryAlgorithm& algorithm,
               const Way& way, std::size_t k) {
  const QueryEngine& engine = index.engine();
  BatchQueries asked;
  asked.passing = way.passing;
  gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, k, asked);
  const std::vector<std::string>& texts = asked.texts;
  HostEntries entries = entries_for(batch);
  entries.place(batch);
  HostBatch host(index, batch, k, way.pruning == gpu::Pruning::blocks);
  host.use(entries);
  if (way.item_documents > 0) host.cut_items(batch, way.item_documents);
  run_way(index, host, way);
  REQUIRE(index.damaged() == 0);
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(algorithm.name << ", k " << k << ", from lists " << way.from_lists << ", scored first " << way.score_first
                        << ", query " << texts[i]);
    require_same(host.results(i), engine.search(terms_of_text(texts[i], analyzer), algorithm, k, nullptr, way.passing));
  }
}

/// Checks results with lists in arenas and in parts.
void check_moved_lists(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                       RandomBits& random) {
  for (const Way& way : {Way{false, false, true, gpu::Pruning::blocks}, Way{true, false}, Way{true, true}}) {
    HostIndex index(engine);
    BatchQueries asked;
    gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, 10, asked);
    const std::vector<std::string>& texts = asked.texts;
    index.move_lists(batch, random);
    HostEntries entries = entries_for(batch);
    entries.place(batch);
    HostBatch host(index, batch, 10, true);
    host.use(entries);
    run_way(index, host, way);
    REQUIRE(index.damaged() == 0);
    Analyzer analyzer = engine.make_analyzer();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      INFO("intersect " << way.intersect << ", from lists " << way.from_lists << ", query " << texts[i]);
      require_same(host.results(i),
                   engine.search(terms_of_text(texts[i], analyzer), algorithm_named(way.intersect ? "and" : "or"), 10));
    }
  }
}

/// The coding of an index.
struct TestedCoding {
  unsigned block_size = 0, recursion = 0, quantize_bits = 0;
};

/// Checks every codec, with recursion if it nests, and with quantized scores if there are any.
template <class Check>
void check_codings(IndexedCorpus& corpus, std::initializer_list<TestedCoding> codings, const Check& check) {
  for (const Codec* codec : all_codecs()) {
    for (const TestedCoding& coding : codings) {
      if (coding.recursion != 1 && codec->name != "rpfd") continue;
      check_coding(corpus, coded(*codec, {coding.block_size, coding.recursion}, coding.quantize_bits), check);
    }
  }
}

/// `passing`: the documents to which results are restricted; null: all.
void check_all_ways(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                    const DocumentSet* passing = nullptr) {
  HostIndex index(engine);
  const auto check = [&](const char* algorithm, Way way, std::size_t k) {
    way.passing = passing;
    check_way(index, queries, algorithm_named(algorithm), way, k);
  };
  check("or", {false, false, false, gpu::Pruning::none}, 50);
  check("bmw", {false, false, true, gpu::Pruning::blocks}, 3);
  Way few{false, false, true, gpu::Pruning::blocks};
  few.few_queries = true;
  check("bmw", few, 3);
  check("and", {true, false, false, gpu::Pruning::none}, 10);
  for (const std::uint64_t documents : {1, 70, 1000})
    check("and", {true, false, true, gpu::Pruning::none, nullptr, nullptr, documents}, 10);
  check("and", {true, true, false, gpu::Pruning::none}, 10);
}

}  // namespace

TEST_CASE("emulated kernels give the CPU's results over every codec", "[gpu_emulated][property]") {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  check_codings(corpus, {{8, 1, 8}, {128, 2, 0}, {256, 1, 0}},
                [&](const QueryEngine& engine) { check_all_ways(engine, queries); });
}

TEST_CASE("emulated kernels give the CPU's results among the documents of a filter",
          "[gpu_emulated][filter][property]") {
  IndexedCorpus corpus(33, {700, 90, 24, false});
  const auto queries = draw_queries(4, corpus.model, 9);
  RandomBits random(13);
  check_codings(corpus, {{8, 1, 8}, {256, 1, 0}}, [&](const QueryEngine& engine) {
    for (const std::uint64_t one_in : {1, 2, 30, 1000}) {
      INFO("one document in " << one_in);
      const DocumentSet passing = random_documents(engine.index().num_documents(), one_in, random);
      check_all_ways(engine, queries, &passing);
    }
  });
}

TEST_CASE("emulated kernels give the CPU's results for lists in two parts", "[gpu_emulated][gpu_store][property]") {
  IndexedCorpus corpus(43, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  RandomBits random(47);
  check_codings(corpus, {{8, 1, 8}, {64, 2, 0}, {128, 1, 8}},
                [&](const QueryEngine& engine) { check_moved_lists(engine, queries, random); });
}

TEST_CASE("emulated kernels give the CPU's results for any order of threads", "[gpu_emulated][property]") {
  IndexedCorpus corpus(71, {600, 80, 20, false});
  const auto queries = draw_queries(11, corpus.model, 7);
  RandomBits random(73);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const emulated::RandomOrder order(seed);
    INFO("order " << seed);
    const Codec& codec = *all_codecs()[seed % all_codecs().size()];
    const IndexReader index =
        corpus.index(coded(codec, {seed % 2 == 0 ? 16u : 64u, codec.name == "rpfd" ? 2u : 1u}, 8));
    check_all_ways(QueryEngine(index, {}), queries);
    check_moved_lists(QueryEngine(index, {}), queries, random);
    check_all_ways(QueryEngine(index, with_scores(Scores::quantized)), queries);
  }
}

TEST_CASE("emulated kernels give the CPU's results over given impacts", "[gpu_emulated][impacts][property]") {
  Pipeline pipeline;
  const CollectionReader collection(parse_weights(pipeline, as_vector_jsonl(random_weights(7, 600, 60, 65535)), {16}));
  const std::vector<std::vector<std::string>> queries = {
      {"everywhere"}, {"everywhere", "##often"}, {"T1", "T2", "T1"}, {"T0", "T3", "##often"}, {"T9", "unknown"}};
  for (const Codec* codec : all_codecs()) {
    const BuildOptions options = coded(*codec, {8, 1});
    INFO(coding_text(options));
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
    check_all_ways(QueryEngine(index, {}), queries);
  }
}

TEST_CASE("emulated kernels stay within bounds over damaged lists", "[gpu_emulated]") {
  IndexedCorpus corpus(37, {500, 60, 24, false});
  const auto queries = draw_queries(5, corpus.model, 9);
  RandomBits random(11);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 2}, CodecOptions{256, 1}}) {
      const BuildOptions options = coded(*codec, coding);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      const QueryEngine engine(index, {});
      std::uint32_t found = 0;
      for (unsigned i = 0; i < 4; ++i) {
        HostIndex damaged(engine);
        damaged.damage(random);
        // Nothing is asserted: sanitizers check accesses.
        for (const Way& way : {Way{false, false, i % 2 == 0, gpu::Pruning::blocks}, Way{true, true}}) {
          BatchQueries asked;
          gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, 10, asked);
          HostEntries entries = entries_for(batch);
          entries.place(batch);
          HostBatch host(damaged, batch, 10, true);
          host.use(entries);
          run_way(damaged, host, way);
        }
        found += damaged.damaged();
      }
      CHECK(found > 0);
    }
  }
}

TEST_CASE("emulated kernels give the CPU's results with PageRank", "[gpu_emulated][property]") {
  RankedPages pages(67, {400, 60, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const auto queries = draw_queries(17, ModelIndex(pages.documents, order.documents), 9);
    const IndexReader index = pages.index(order, alpha, blocks_of(8));
    check_all_ways(QueryEngine(index, with_pagerank(alpha)), queries);
    RandomBits random(5);
    const DocumentSet passing = random_documents(index.num_documents(), 3, random);
    check_all_ways(QueryEngine(index, with_pagerank(alpha)), queries, &passing);
  }
}

}  // namespace quern
