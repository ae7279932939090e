#include <algorithm>
#include <set>

#include "quern/core/random.hpp"
#include "quern/search/intersect.hpp"

#include "catch.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/pipeline.hpp"
#include "search/read_queries.hpp"

/// Intersections of whole queries by every method, compared with sets.
namespace quern {
namespace {

using namespace testing;

/// Documents with all terms; none if a term is unknown or there are no terms.
std::vector<docid_t> documents_with_all(const ModelIndex& model, const std::vector<std::string>& terms) {
  std::vector<docid_t> found;
  for (docid_t docid = 0; docid < model.documents().size() && !terms.empty(); ++docid) {
    const auto& tokens = model.documents()[docid]->tokens;
    const auto has = [&](const std::string& term) {
      return std::find(tokens.begin(), tokens.end(), term) != tokens.end();
    };
    if (std::all_of(terms.begin(), terms.end(), has)) found.push_back(docid);
  }
  return found;
}

/// Queries of up to five terms, frequent and rare, some repeated, some unknown.
std::vector<std::vector<std::string>> random_queries(const ModelIndex& model, std::size_t count) {
  std::vector<std::string> terms, frequent;
  for (const auto& [term, postings] : model.lists()) {
    terms.push_back(term);
    if (postings.size() * 5 > model.documents().size()) frequent.push_back(term);
  }
  RandomBits random(41);
  std::vector<std::vector<std::string>> queries = {{}, {"unknown"}, {"everywhere"}, {"everywhere", "everywhere"}};
  while (queries.size() < count) {
    auto& query = queries.emplace_back();
    for (std::uint64_t left = 1 + random.below(5); left > 0; --left) {
      const auto& from = random.below(4) == 0 ? terms : frequent;
      query.push_back(random.below(40) == 0 ? "unknown" : from[random.below(from.size())]);
    }
    if (random.below(8) == 0) query.push_back(query.front());
  }
  return queries;
}

std::string joined(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& term : terms) text += term + " ";
  return text;
}

}  // namespace

TEST_CASE("every method finds the documents that have all terms, for any codec and block size",
          "[intersect][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(43, {700, 300, 120, false}), OrderBy::random, 7);
  const auto queries = random_queries(corpus.model, 150);
  std::vector<std::vector<docid_t>> wanted;
  std::size_t with_results = 0, results_of_several = 0;
  for (const auto& query : queries) {
    wanted.push_back(documents_with_all(corpus.model, query));
    with_results += !wanted.back().empty();
    if (query.size() > 2) results_of_several += wanted.back().size();
  }
  REQUIRE(with_results > 50);
  REQUIRE(results_of_several > 1000);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 16u, 64u, 512u}) {
      BuildOptions options;
      options.codec = codec->name;
      options.codec_options.block_size = block_size;
      const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
      for (const IntersectionMethod& method : all_intersection_methods()) {
        const Intersection intersection(index, method, {3});
        Intersection::WorkSpace space;
        IntersectionAnswer answer;
        for (std::size_t i = 0; i < queries.size(); ++i) {
          INFO(method.name << ", '" << joined(queries[i]) << "', " << coding_text(options));
          intersection.answer(query_of(queries[i]), space, answer);
          REQUIRE(answer.documents == wanted[i]);
        }
      }
    }
  }
}

TEST_CASE("batches give the same answers over any number of threads, in the order of the queries", "[intersect]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(43, {200, 120, 40, false}));
  const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, {}));
  std::vector<std::string> queries;
  std::vector<std::vector<docid_t>> wanted;
  for (const auto& query : random_queries(corpus.model, 5000)) {
    queries.push_back(joined(query));
    wanted.push_back(documents_with_all(corpus.model, query));
  }
  const std::vector<std::string_view> texts(queries.begin(), queries.end());
  for (const unsigned threads : {1u, 3u}) {
    const Intersection intersection(index, all_intersection_methods().front(), {});
    std::size_t next = 0, wrong = 0;
    intersect_batch(intersection, read_all(intersection, texts).views(), threads,
                    [&](std::size_t i, const IntersectionAnswer& answer) {
                      REQUIRE(i == next++);
                      wrong += answer.documents != wanted[i];
                    });
    CHECK(next == queries.size());
    CHECK(wrong == 0);
  }
}

TEST_CASE("block-skipping and hash-segments skip blocks without results, and other methods decode all", "[intersect]") {
  // "often" is in all documents, "seldom" in three of them.
  std::string corpus;
  for (int i = 0; i < 4000; ++i)
    corpus += "{\"id\":\"" + std::to_string(i) + "\",\"contents\":\"often" + (i % 1500 == 7 ? " seldom" : "") + "\"}\n";
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(corpus));
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  REQUIRE(index.find("often")->num_blocks(128) == 32);
  for (const IntersectionMethod& method : all_intersection_methods()) {
    INFO(method.name);
    const Intersection intersection(index, method, {});
    Intersection::WorkSpace space;
    IntersectionAnswer answer;
    intersection.answer(intersection.reader().read("often seldom"), space, answer);
    CHECK(answer.documents == std::vector<docid_t>{7, 1507, 3007});
    CHECK(answer.statistics.counts.postings == 4003);
    CHECK(answer.statistics.counts.blocks == 33);
    if (method.intersect_coded) {
      CHECK(answer.statistics.counts.blocks_decoded == 4);
    } else {
      CHECK(answer.statistics.counts.blocks_decoded == 33);
    }
    intersection.answer(intersection.reader().read("often unknown"), space, answer);
    CHECK(answer.documents.empty());
    CHECK(answer.statistics.counts.blocks_decoded == 0);
  }
}

}  // namespace quern
