#include <set>

#include "quern/core/random.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/pipeline.hpp"

/// Whole indexes of random corpora, compared with a naive inversion.
namespace quern {
namespace {

using namespace testing;

std::vector<ModelPosting> all_postings(const IndexReader& index, const PostingList& list) {
  std::vector<ModelPosting> postings;
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next())
    postings.push_back({cursor.docid(), cursor.freq()});
  return postings;
}

/// Checks jumps of all widths, with occasional reads of frequencies.
void check_jumps(const IndexReader& index, const PostingList& list, const std::vector<ModelPosting>& expected,
                 RandomBits& random) {
  PostingCursor cursor(index, list);
  std::size_t at = 0;
  docid_t target = 0;
  while (at < expected.size()) {
    target +=
        static_cast<docid_t>(random.below(1 + random.below(1 + 2 * index.num_documents() / (1 + random.below(40)))));
    while (at < expected.size() && expected[at].docid < target) ++at;
    cursor.next_geq(target);
    REQUIRE(cursor.docid() == (at < expected.size() ? expected[at].docid : end_docid));
    if (at == expected.size()) break;
    if (random.below(2) == 0) REQUIRE(cursor.freq() == expected[at].freq);
    if (random.below(3) == 0) {
      cursor.next();
      ++at;
      REQUIRE(cursor.docid() == (at < expected.size() ? expected[at].docid : end_docid));
      target = cursor.docid();
    }
  }
  cursor.next_geq(end_docid);
  CHECK(cursor.docid() == end_docid);
}

void check_lists(const IndexReader& index, const ModelIndex& model, std::uint64_t seed) {
  RandomBits random(seed);
  REQUIRE(index.manifest().terms == model.lists().size());
  term_t number = 0;
  for (const auto& [term, expected] : model.lists()) {
    INFO("term " << term);
    const auto list = index.find(term);
    REQUIRE(list);
    REQUIRE(list->number == number++);
    REQUIRE(list->df == expected.size());
    std::uint64_t cf = 0;
    for (const ModelPosting& posting : expected) cf += posting.freq;
    REQUIRE(list->cf == cf);
    REQUIRE(all_postings(index, *list) == expected);
    check_jumps(index, *list, expected, random);
  }
  CHECK_FALSE(index.find(""));
  CHECK_FALSE(index.find("a"));
  CHECK_FALSE(index.find("often "));
  CHECK_FALSE(index.find("zz"));
  // Terms of URLs are in the collection's lexicon, not in the index.
  CHECK_FALSE(index.find("example"));
}

void check_documents(const IndexReader& index, const ModelIndex& model) {
  REQUIRE(index.num_documents() == model.documents().size());
  std::map<std::string, docid_t> first;
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const ModelDocument& document = *model.documents()[docid];
    INFO("docID " << docid);
    REQUIRE(index.docno(docid) == document.docno);
    REQUIRE(index.length(docid) == document.tokens.size());
    REQUIRE(index.text(docid).url == document.url);
    REQUIRE(index.text(docid).title == document.title);
    first.emplace(document.docno, docid);
  }
  for (const auto& [docno, docid] : first) REQUIRE(index.find_docno(docno) == docid);
  CHECK_FALSE(index.find_docno(""));
  CHECK_FALSE(index.find_docno("DOC"));
}

void check_counts(const IndexReader& index, const ModelIndex& model) {
  const IndexManifest& manifest = index.manifest();
  CHECK(manifest.postings == model.postings());
  CHECK(manifest.tokens == model.tokens());
  CHECK(manifest.statistics.documents == model.documents().size());
  CHECK(manifest.statistics.tokens == model.tokens());
  std::uint64_t empty = 0;
  for (const ModelDocument* document : model.documents()) empty += document->tokens.empty();
  CHECK(manifest.empty_documents == empty);
}

}  // namespace

TEST_CASE("an index of any codec and block size has the postings of a plain inversion", "[index][property]") {
  Pipeline pipeline;
  const auto documents = random_corpus(7, {700, 500, 40, true});
  const CollectionReader collection(pipeline.parse(as_jsonl(documents)));
  REQUIRE(collection.num_chunks() > 10);
  const DocumentOrder order = pipeline.order(collection);
  const ModelIndex model(documents, order.documents);
  REQUIRE(model.lists().at("everywhere").size() > 512);
  for (const BuildOptions& options : all_codings()) {
    INFO(coding_text(options));
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, options));
    check_lists(index, model, 11);
    check_documents(index, model);
    check_counts(index, model);
    verify_index(index, pipeline.resources);
  }
}

TEST_CASE("an index of any docID order and corpus format has the postings of a plain inversion",
          "[index][order][property]") {
  Pipeline pipeline;
  std::uint64_t seed = 100;
  for (const std::size_t size : {1, 2, 17, 65, 130, 400}) {
    ++seed;
    CorpusShape shape{size, 30 + size, 20 + size % 100 * 3, seed % 2 == 0};
    auto documents = random_corpus(seed, shape);
    documents.front().tokens.push_back("last");
    documents.front().body += " last";
    const bool with_urls = size != 65;
    if (!with_urls)
      for (ModelDocument& document : documents) document.url.clear();
    const CollectionReader collection(pipeline.parse(with_urls ? as_jsonl(documents) : as_trectext(documents)));
    for (const OrderMethod& method : all_orders()) {
      INFO(size << " documents, order " << method.name());
      const DocumentOrder order = pipeline.order(collection, method.by, seed);
      std::set<docid_t> different(order.documents.begin(), order.documents.end());
      REQUIRE(different.size() == size);
      REQUIRE(*different.rbegin() == size - 1);
      const ModelIndex model(documents, order.documents);
      BuildOptions options;
      options.codec_options.block_size = 64;
      const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, options));
      check_lists(index, model, seed);
      check_documents(index, model);
      check_counts(index, model);
      verify_index(index, pipeline.resources);
    }
  }
}

TEST_CASE("a corpus of only empty documents gives an index without terms", "[index]") {
  Pipeline pipeline;
  const CollectionReader collection(
      pipeline.parse("{\"id\":\"a\",\"contents\":\"\"}\n{\"id\":\"b\",\"contents\":\"!\"}\n"));
  const DocumentOrder order = pipeline.order(collection);
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  CHECK(index.num_documents() == 2);
  CHECK(index.manifest().terms == 0);
  CHECK(index.manifest().empty_documents == 2);
  CHECK_FALSE(index.find("a"));
  CHECK(index.find_docno("b") == docid_t{1});
  verify_index(index, pipeline.resources);
}

}  // namespace quern
