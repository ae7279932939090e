#include <map>
#include <random>

#include "quern/api/quern.hpp"

#include "api/failing.hpp"
#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

/// Given weights, weighted queries and filters in the library's interface.
namespace quern {
namespace {

using namespace testing;
using api::ErrorCode;

using Vector = std::map<std::string, double>;

std::vector<api::WeightedTerm> terms_of(const Vector& vector) {
  std::vector<api::WeightedTerm> terms;
  for (const auto& [term, weight] : vector) terms.push_back({term, weight});
  return terms;
}

std::vector<Vector> random_vectors(std::size_t count) {
  std::mt19937 random(5);
  std::vector<Vector> vectors(count);
  for (Vector& vector : vectors)
    for (int term = 0; term < 8; ++term) vector["t" + std::to_string(random() % (1 + random() % 30))] = random() % 256;
  return vectors;
}

void build(const std::string& path, const std::vector<Vector>& vectors) {
  api::IndexOptions options;
  options.impact_bits = 8;
  options.block_size = 64;
  api::IndexBuilder builder(path, options);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::string docno = "V" + std::to_string(i);
    const auto terms = terms_of(vectors[i]);
    api::NewDocument document;
    document.docno = docno;
    document.vector = terms;
    builder.add(document);
  }
  CHECK(builder.finish().documents == vectors.size());
}

/// The k best of the documents that pass, computed by adding up.
std::vector<api::Hit> best_of(const std::vector<Vector>& vectors, const Vector& query, std::size_t k, bool only_odd) {
  std::vector<api::Hit> hits;
  for (std::uint32_t docid = 0; docid < vectors.size(); ++docid) {
    double score = 0;
    for (const auto& [term, weight] : query)
      if (const auto found = vectors[docid].find(term); found != vectors[docid].end()) score += weight * found->second;
    if (score > 0 && (!only_odd || docid % 2 == 1)) hits.push_back({docid, static_cast<float>(score)});
  }
  std::stable_sort(hits.begin(), hits.end(), [](const api::Hit& a, const api::Hit& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), k));
  return hits;
}

}  // namespace

TEST_CASE("given weights are indexed, and searched with weights and a filter", "[api]") {
  const TemporaryFolder folder;
  const auto vectors = random_vectors(900);
  build(folder.path("index.quern"), vectors);
  const api::Index index = api::Index::open(folder.path("index.quern"));
  index.verify();
  CHECK(index.statistics().impact_bits == 8);
  std::vector<std::uint32_t> odd;
  for (std::uint32_t docid = 1; docid < vectors.size(); docid += 2) odd.push_back(docid);
  const api::Filter filter = api::Filter::of_docids(index, odd);
  CHECK(filter.count() == odd.size());
  const api::Searcher searcher(index);
  const std::vector<Vector> queries = {{{"t0", 2}, {"t1", 5}}, {{"t3", 1}}, {{"t2", 1}, {"unknown", 9}}};
  std::vector<std::vector<api::WeightedTerm>> asked;
  for (const Vector& query : queries) asked.push_back(terms_of(query));
  for (const char* algorithm : {"or", "maxscore", "bmw", "wand", "auto"})
    for (const bool only_odd : {false, true}) {
      api::BatchOptions options{25, algorithm, only_odd ? &filter : nullptr};
      const api::BatchResults batch = searcher.batch(std::vector<api::Query>(asked.begin(), asked.end()), options);
      for (std::size_t query = 0; query < queries.size(); ++query) {
        const auto expected = best_of(vectors, queries[query], 25, only_odd);
        CHECK(searcher.search(asked[query], 25, algorithm, nullptr, options.filter) == expected);
        REQUIRE(batch.offsets[query + 1] - batch.offsets[query] == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
          CHECK(batch.docids[batch.offsets[query] + i] == expected[i].docid);
      }
    }
  const std::vector<api::WeightedTerm> not_whole = {{"t0", 0.5}}, negative = {{"t0", -1}};
  CHECK(code_of([&] { static_cast<void>(searcher.search(not_whole)); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(searcher.search(negative)); }) == ErrorCode::invalid_argument);
  const std::vector<api::WeightedTerm> whole = {{"t0", 1}};
  const std::vector<api::Query> batch = {whole, not_whole, negative};
  CHECK_THROWS_WITH(searcher.batch(batch), Catch::Contains("query number 2: the weight 0.5 of the query's term 't0'"));
  api::Scoring scaled;
  scaled.query_scale = 10;
  CHECK(api::Searcher(index, scaled).search(not_whole).front().score ==
        5 * searcher.search(terms_of({{"t0", 1}})).front().score);
}

TEST_CASE("a document whose vector is empty keeps its docID", "[api]") {
  const TemporaryFolder folder;
  build(folder.path("index.quern"), {Vector{{"a", 1}}, Vector{}, Vector{{"a", 2}}});
  const api::Index index = api::Index::open(folder.path("index.quern"));
  CHECK(index.docno(1) == "V1");
  CHECK(api::Searcher(index).search(terms_of({{"a", 1}})) == std::vector<api::Hit>{{2, 2}, {0, 1}});
}

TEST_CASE("a term that a query names several times has the sum of its weights, on every device", "[api]") {
  const TemporaryFolder folder;
  const auto vectors = random_vectors(300);
  build(folder.path("index.quern"), vectors);
  const api::Index index = api::Index::open(folder.path("index.quern"));
  using Queries = std::vector<api::Query>;
  const std::vector<api::WeightedTerm> repeated = {{"t0", 1}, {"t1", 5}, {"t0", 2}, {"t3", 0}, {"t0", 1}};
  const std::vector<api::WeightedTerm> once = {{"t0", 4}, {"t1", 5}};
  const auto expected = best_of(vectors, {{"t0", 4}, {"t1", 5}}, 25, false);
  for (const api::Device device : {api::Device::cpu, api::Device::automatic}) {
    INFO("device " << static_cast<int>(device));
    api::Placement placement;
    placement.device = device;
    const api::Searcher searcher(index, {}, placement);
    CHECK(searcher.search(repeated, 25) == expected);
    const api::BatchResults found = searcher.batch(Queries{repeated}, {25, "or", nullptr});
    CHECK(found.docids == searcher.batch(Queries{once}, {25, "or", nullptr}).docids);
    CHECK(found.docids.size() == expected.size());
    const std::vector<api::WeightedTerm> negative = {{"t0", 3}, {"t0", -1}};
    CHECK(code_of([&] { searcher.batch(Queries{negative}); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a program's filter names kept fields, docnos and URLs", "[api]") {
  const TemporaryFolder folder;
  api::IndexOptions options;
  options.keep_fields = {"lang"};
  const std::string corpus =
      folder.write("corpus.jsonl",
                   "{\"id\":\"a\",\"text\":\"mill\",\"lang\":\"en\"}\n"
                   "{\"id\":\"b\",\"text\":\"mill\",\"lang\":\"de\",\"url\":\"http://b.example/\"}\n"
                   "{\"id\":\"c\",\"text\":\"mill\",\"lang\":\"en\"}\n");
  api::build_index({corpus}, folder.path("index.quern"), options);
  const api::Index index = api::Index::open(folder.path("index.quern"));
  CHECK(api::Filter::matching(index, "lang=en").count() == 2);
  CHECK(api::Filter::matching(index, "lang=en and not docno=a").count() == 1);
  CHECK(api::Filter::matching(index, "url^=http://b").count() == 1);
  const std::vector<std::string_view> docnos = {"c", "nothing", "c"};
  const api::Filter only_c = api::Filter::of_docnos(index, docnos);
  const auto hits = api::Searcher(index).search("mill", 10, {}, nullptr, &only_c);
  REQUIRE(hits.size() == 1);
  CHECK(index.docno(hits.front().docid) == "c");
  for (const char* wrong : {"lang=", "color=red", "(lang=en"})
    CHECK(code_of([&] { api::Filter::matching(index, wrong); }) == ErrorCode::invalid_argument);
  const std::vector<std::uint32_t> beyond = {3};
  CHECK(code_of([&] { api::Filter::of_docids(index, beyond); }) == ErrorCode::invalid_argument);
}

}  // namespace quern
