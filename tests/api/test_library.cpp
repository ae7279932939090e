#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>

#include "quern/api/quern.hpp"

#include "api/failing.hpp"
#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/temporary_folder.hpp"

/// The library as other programs use it.
namespace quern {
namespace {

using namespace testing;
using api::ErrorCode;

struct TextDocument {
  std::string docno, text, title, url;
};

/// Documents of a few recurring words.
std::vector<TextDocument> random_documents(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TextDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    TextDocument document{"D" + std::to_string(i), {}, i % 3 == 0 ? "title" + std::to_string(i % 7) : "", {}};
    const std::size_t words = random() % 40;
    for (std::size_t word = 0; word < words; ++word) {
      // Small numbers are frequent.
      document.text += "w" + std::to_string(random() % (1 + random() % 50)) + (random() % 9 == 0 ? "\n\n" : " ");
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

api::IndexReport build(const std::string& path, const std::vector<TextDocument>& documents,
                       const api::IndexOptions& options = {}, const api::Work& work = {}) {
  api::IndexBuilder builder(path, options, work);
  for (const TextDocument& document : documents)
    builder.add({document.docno, document.text, document.title, document.url});
  return builder.finish();
}

std::string json_line(const TextDocument& document) {
  nlohmann::ordered_json json{{"id", document.docno}, {"title", document.title}, {"contents", document.text}};
  return json.dump() + "\n";
}

}  // namespace

TEST_CASE("documents that a program adds give the same index as their JSON lines", "[api]") {
  const TemporaryFolder folder;
  const auto documents = random_documents(3000, 1);
  std::string lines;
  for (const TextDocument& document : documents) lines += json_line(document);
  REQUIRE(run_quern({"index", folder.write("corpus.jsonl", lines), "-o", folder.path("from_lines.quern"),
                     "--block-size", "64", "--quantize", "8"})
              .exit_status == 0);
  api::IndexOptions options;
  options.block_size = 64;
  options.quantize_bits = 8;
  const api::IndexReport report = build(folder.path("added.quern"), documents, options);
  CHECK(report.documents == documents.size());
  CHECK(report.bad == 0);

  const api::Index from_lines = api::Index::open(folder.path("from_lines.quern"));
  const api::Index added = api::Index::open(folder.path("added.quern"));
  added.verify();
  CHECK(added.statistics().terms == from_lines.statistics().terms);
  CHECK(added.statistics().postings == from_lines.statistics().postings);
  CHECK(added.statistics().file_bytes == from_lines.statistics().file_bytes);
  std::size_t terms = 0;
  from_lines.for_each_term([&](std::string_view term, const api::TermInfo& info) {
    const api::PostingArrays expected = from_lines.postings(term), found = added.postings(term);
    CHECK(found.docids == expected.docids);
    CHECK(found.frequencies == expected.frequencies);
    CHECK(expected.docids.size() == info.df);
    CHECK(added.term(term)->cf == info.cf);
    return ++terms < 1000;
  });
  CHECK(terms == from_lines.statistics().terms);
  for (std::uint32_t docid = 0; docid < 20; ++docid) {
    CHECK(added.docno(docid) == documents[docid].docno);
    CHECK(added.document(docid).title == documents[docid].title);
    CHECK(added.find(documents[docid].docno) == docid);
  }
}

TEST_CASE("searches find the command line's results, one by one, in batches and in threads", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", path}).exit_status == 0);
  const std::vector<std::string_view> queries = {
      "water mill", "the", "grinding grain stones", "", "no-such-word-zzz", "mill mill wheel"};
  std::string lines;
  for (const std::string_view query : queries) lines += std::string(query.empty() ? "zzzz" : query) + "\n";
  const api::Index index = api::Index::open(path);
  const api::Searcher searcher(index);
  const std::string query_file = folder.write("queries.txt", lines);
  for (const std::string& algorithm : api::algorithms()) {
    INFO(algorithm);
    const RunOutcome run = run_quern({"query", path, "-q", query_file, "--queries-format", "lines", "-a", algorithm,
                                      "-k", "20", "--output-format", "json"});
    REQUIRE(run.exit_status == 0);
    const api::BatchResults batch =
        searcher.batch(std::vector<api::Query>(queries.begin(), queries.end()), {20, algorithm});
    REQUIRE(batch.offsets.size() == queries.size() + 1);
    CHECK(batch.statistics.queries == queries.size());
    std::size_t query = 0;
    std::istringstream printed(run.out);
    for (std::string line; std::getline(printed, line); ++query) {
      const auto json = nlohmann::json::parse(line);
      const auto hits = searcher.search(queries[query], 20, algorithm);
      REQUIRE(json["results"].size() == hits.size());
      REQUIRE(batch.offsets[query + 1] - batch.offsets[query] == hits.size());
      for (std::size_t i = 0; i < hits.size(); ++i) {
        CHECK(index.docno(hits[i].docid) == json["results"][i]["docno"].get<std::string>());
        CHECK(hits[i].score == json["results"][i]["score"].get<float>());
        CHECK(batch.docids[batch.offsets[query] + i] == hits[i].docid);
        CHECK(batch.scores[batch.offsets[query] + i] == hits[i].score);
      }
    }
    CHECK(query == queries.size());
  }
  const auto expected = searcher.search("water mill", 100);
  REQUIRE(expected.size() > 10);
  std::vector<std::jthread> threads;
  std::atomic<int> same = 0;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) same += searcher.search("water mill", 100) == expected;
    });
  threads.clear();
  CHECK(same == 200);
}

TEST_CASE("shards that are opened together are the index that they were cut from", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "--forward", "--store-text", "-o", path}).exit_status == 0);
  std::vector<std::string> paths;
  for (const std::string number : {"2", "1", "3"}) {
    paths.push_back(folder.path("shard" + number));
    REQUIRE(run_quern({"cut", path, "--shard", number + "/3", "-o", paths.back()}).exit_status == 0);
  }
  const api::Index whole = api::Index::open(path), shards = api::Index::open_shards(paths);
  REQUIRE(shards.num_documents() == whole.num_documents());
  const std::uint32_t last = whole.num_documents() - 1;
  CHECK(shards.docno(last) == whole.docno(last));
  CHECK(shards.find(whole.docno(last)) == last);
  CHECK(shards.length(last) == whole.length(last));
  CHECK(shards.document(last).title == whole.document(last).title);
  CHECK(shards.text(last) == whole.text(last));
  CHECK(shards.analyze("Water mills") == whole.analyze("Water mills"));
  shards.verify();
  const std::vector<std::string_view> texts = {"water mill", "grinding grain stones"};
  const std::vector<api::Query> queries(texts.begin(), texts.end());
  const std::vector<std::uint32_t> some = {0, 5, last};
  const std::string first = whole.docno(0), list = folder.write("list", first + "\nno such document\n");
  const std::vector<std::string_view> docnos = {first};
  for (const auto& make : std::vector<std::function<api::Filter(const api::Index&)>>{
           [&](const api::Index& index) { return api::Filter::matching(index, "docno!=" + first); },
           [&](const api::Index& index) { return api::Filter::listed(index, list); },
           [&](const api::Index& index) { return api::Filter::of_docnos(index, docnos); },
           [&](const api::Index& index) { return api::Filter::of_docids(index, some); }}) {
    const api::Filter filter = make(shards), of_whole = make(whole);
    CHECK(filter.count() == of_whole.count());
    const auto found = api::Searcher(shards).batch(queries, {20, "or", &filter});
    const auto expected = api::Searcher(whole).batch(queries, {20, "or", &of_whole});
    CHECK(found.docids == expected.docids);
    CHECK(found.scores == expected.scores);
  }
  const api::BatchResults found = api::Searcher(shards).batch(queries, {20, {}, nullptr});
  const std::vector<api::Hit> hits = api::Searcher(whole).search(texts[0], 20);
  CHECK(api::Searcher(shards).search(texts[0], 20) == hits);
  CHECK(api::Features(shards, "body.*").compute(texts[0], hits).values ==
        api::Features(whole, "body.*").compute(texts[0], hits).values);
  const api::RankerOptions ranker{sample_folder + "/ranker.txt"};
  const api::BatchResults reranked = api::Reranker(shards, ranker).rerank(texts, found, 7);
  CHECK(reranked.docids == api::Reranker(whole, ranker).rerank(texts, found, 7).docids);
  CHECK(reranked.docids.size() == 14);
  const std::vector<std::uint32_t> beyond = {last + 1};
  CHECK(code_of([&] { api::Filter::of_docids(shards, beyond); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { shards.length(last + 1); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { shards.term("mill"); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { shards.statistics(); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { api::Intersector{shards}; }) == ErrorCode::invalid_argument);
  paths.pop_back();
  CHECK(code_of([&] { api::Index::open_shards(paths); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { api::Index::open_shards({}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("intersections find the documents with all terms, by any method, filtered or not", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  build(path, random_documents(500, 3));
  const api::Index index = api::Index::open(path);
  const std::vector<api::WeightedTerm> vector = {{"w1", 0.5}, {"w2", 2}, {"no-such-word", 0}};
  const std::vector<api::Query> queries = {"w1 w2", vector, "w0 no-such-word", "w1 w2 w3"};
  const api::BatchResults all = api::Searcher(index).batch(queries, {1000, "and", nullptr});
  std::vector<std::uint32_t> expected(all.docids.begin(), all.docids.begin() + static_cast<int>(all.offsets[1]));
  std::sort(expected.begin(), expected.end());
  REQUIRE(expected.size() > 10);
  for (const api::Device device : {api::Device::cpu, api::Device::automatic}) {
    api::Placement placement;
    placement.device = device;
    for (const char* method : {"", "stride", "merge"}) {
      const api::BatchResults found = api::Intersector(index, method, placement).batch(queries);
      CHECK(found.statistics.queries == queries.size());
      REQUIRE(found.offsets.size() == queries.size() + 1);
      CHECK(std::equal(expected.begin(), expected.end(), found.docids.begin()));
      CHECK(std::equal(expected.begin(), expected.end(), found.docids.begin() + static_cast<int>(expected.size())));
      CHECK(found.offsets == all.offsets);
      CHECK(found.scores == std::vector<float>(found.docids.size()));
    }
  }
  const std::vector<std::uint32_t> only = {expected[3]};
  const api::Filter filter = api::Filter::of_docids(index, only);
  CHECK(api::Intersector(index).batch(std::span(queries).first(1), &filter).docids == only);
  CHECK(code_of([&] { api::Intersector(index, "merge-find"); }) == ErrorCode::wrong_usage);
  CHECK(code_of([&] { api::Intersector(index, "no such method"); }) != ErrorCode::other);
  build(folder.path("other.quern"), random_documents(20, 4));
  const api::Filter of_other = api::Filter::of_docnos(api::Index::open(folder.path("other.quern")), {});
  CHECK(code_of([&] { api::Intersector(index).batch(queries, &of_other); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an iterator steps through postings and jumps", "[api]") {
  const TemporaryFolder folder;
  api::IndexOptions options;
  options.block_size = 64;
  build(folder.path("index.quern"), random_documents(2000, 7), options);
  auto index = std::make_unique<api::Index>(api::Index::open(folder.path("index.quern")));
  const api::PostingArrays all = index->postings("w0");
  REQUIRE(all.docids.size() > 200);
  api::PostingIterator walk = index->posting_iterator("w0"), jump = index->posting_iterator("w0");
  CHECK(index->posting_iterator("unknown").at_end());
  index.reset();  // an iterator keeps the index open
  for (std::size_t i = 0; i < all.docids.size(); ++i, walk.next()) {
    REQUIRE_FALSE(walk.at_end());
    CHECK(walk.docid() == all.docids[i]);
    CHECK(walk.frequency() == all.frequencies[i]);
  }
  CHECK(walk.at_end());
  for (std::size_t i = 5; i < all.docids.size(); i += 37) {
    jump.seek(all.docids[i - 1] + 1);
    CHECK(jump.docid() == all.docids[i]);
  }
  jump.seek(0xfffffffe);
  CHECK(jump.at_end());
}

TEST_CASE("an index that is abandoned, stopped or interrupted by an exception leaves nothing", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  const auto documents = random_documents(20000, 3);
  { api::IndexBuilder abandoned(path); }
  {
    api::IndexBuilder builder(path);
    for (const TextDocument& document : documents) builder.add({document.docno, document.text, {}, {}});
  }
  std::stop_source stop;
  api::Work work;
  work.stop = stop.get_token();
  {
    api::IndexBuilder builder(path, {}, work);
    for (const TextDocument& document : documents) builder.add({document.docno, document.text, {}, {}});
    stop.request_stop();
    CHECK(code_of([&] { builder.finish(); }) == ErrorCode::cancelled);
  }
  api::Work throwing;
  throwing.progress = [](const api::ProgressStep&) { throw std::runtime_error("the caller's own"); };
  CHECK_THROWS_WITH(build(path, documents, {}, throwing), "the caller's own");
  CHECK(code_of([&] { api::IndexBuilder(path).finish(); }) == ErrorCode::invalid_argument);
  CHECK(files_in(folder).empty());
}

TEST_CASE("a builder refuses invalid documents, and continues with the rest", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  api::IndexBuilder builder(path);
  CHECK(code_of([&] { builder.add({"", "text", {}, {}}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { builder.add({"a\nb", "text", {}, {}}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { builder.add({std::string(70000, 'x'), "text", {}, {}}); }) == ErrorCode::invalid_argument);
  builder.add({"q\"\\", std::string("nul \0 and \x01 \xff controls \"quoted\" \\ back", 39), "t\tt", {}});
  builder.add({"large", std::string(5 << 20, 'x') + " mill", {}, "http://mill.example/"});
  builder.add({"large", "the same docno", {}, {}});
  const api::IndexReport report = builder.finish();
  CHECK(report.documents == 3);
  CHECK(report.duplicates == 1);
  CHECK(code_of([&] { builder.add({"a", "b", {}, {}}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { builder.finish(); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { api::IndexBuilder again(path); }) == ErrorCode::invalid_argument);
  const api::Index index = api::Index::open(path);
  CHECK(index.find("q\"\\") == 0u);
  CHECK(index.postings("quoted").docids == std::vector<std::uint32_t>{0});
  CHECK(index.postings("mill").docids == std::vector<std::uint32_t>{1});
  CHECK(index.document(1).url == "http://mill.example/");

  // An open index does not change.
  api::IndexOptions options;
  options.overwrite = true;
  build(path, {{"other", "quite another", {}, {}}}, options);
  CHECK(index.num_documents() == 3);
  CHECK(api::Searcher(index).search("mill").size() == 1);
  CHECK(api::Index::open(path).num_documents() == 1);

  options.refuse_duplicates = true;
  CHECK(code_of([&] {
          build(path, {{"a", "b", {}, {}}, {"a", "c", {}, {}}}, options);
        }) == ErrorCode::invalid_argument);
  CHECK(api::Index::open(path).num_documents() == 1);
}

TEST_CASE("errors of the library have a code, and name options as programs do", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern");
  build(path, {{"a", "mill", {}, {}}});
  const api::Index index = api::Index::open(path);
  CHECK(code_of([&] { api::Index::open(folder.path("missing")); }) == ErrorCode::io);
  CHECK(code_of([&] { api::Index::open(folder.write("text", "no index")); }) == ErrorCode::corrupt_file);
  CHECK(code_of([&] { static_cast<void>(index.docno(1)); }) == ErrorCode::invalid_argument);
  const api::Searcher searcher(index);
  CHECK(code_of([&] { static_cast<void>(searcher.search("mill", 0)); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(searcher.search("mill", 1, "nothing")); }) == ErrorCode::invalid_argument);
  api::IndexOptions options;
  options.overwrite = true;
  options.quantize_bits = 99;
  CHECK(code_of([&] { api::IndexBuilder builder(path, options); }) == ErrorCode::invalid_argument);
  api::Work work;
  work.memory_bytes = 1;
  const api::Error small = error_of([&] { api::IndexBuilder builder(path, {}, work); });
  CHECK(small.option() == "memory");
  CHECK_THAT(small.what(), !Catch::Contains("--"));
  const api::Error no_texts = error_of([&] { static_cast<void>(index.text(0)); });
  CHECK(no_texts.option() == "store_text");
  CHECK_THAT(no_texts.what(), Catch::Matchers::EndsWith("store_text"));
  CHECK(std::string(api::name_of(ErrorCode::corrupt_file)) == "corrupt_file");
}

}  // namespace quern
