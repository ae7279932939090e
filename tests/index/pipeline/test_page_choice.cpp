#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/collection.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"
#include "index/pipeline/crawl.hpp"

/// Crawled pages skipped by language or payload.
namespace quern {
namespace {

using namespace testing;

struct Chosen {
  std::string docnos;  ///< docnos of the documents, each followed by a space
  ParseReport report;
  std::string bytes;
};

Chosen parse_crawl(const std::string& crawl, const PageChoice& pages, std::uint64_t batch_bytes = 2 << 20,
                   unsigned threads = 2, std::uint64_t memory_bytes = 64 << 20) {
  const TemporaryFolder folder;
  ParseOptions options;
  options.corpus = {folder.write("crawl.warc", crawl)};
  options.reader.batch_bytes = batch_bytes;
  options.pages = pages;
  Resources resources;
  resources.threads = threads;
  resources.memory_bytes = memory_bytes;
  resources.tmp_folder = folder.path("");
  auto file = std::make_shared<File>(File::anonymous(folder.path("")));
  Chosen chosen;
  chosen.report = parse_corpus(options, resources, *file);
  const CollectionReader collection(file);
  CHECK(collection.manifest().pages == pages);
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
    for (const auto& document : collection.documents(chunk, buffers))
      chosen.docnos += std::string(document.docno) + " ";
  const Bytes bytes = bytes_of(*file);
  chosen.bytes.assign(bytes.begin(), bytes.end());
  return chosen;
}

}  // namespace

TEST_CASE("Pages are kept if their main language, from themselves or their metadata, is chosen", "[pipeline][crawl]") {
  const std::string crawl =
      crawled_page("english", "a", "", "eng") + crawled_page("mostly-german", "b", "", "deu,eng") +
      crawled_page("mostly-english", "c", "", "eng,deu") + crawled_page("unsaid", "d") +
      crawled_page("by-metadata", "e") + crawled_metadata("by-metadata", "deu") + crawled_page("other-metadata", "f") +
      crawled_metadata("nobody", "deu") + crawled_page("missing", "g", "", "eng", "404 Not Found") +
      crawled_text("text", "Titel\nText\n", "", "deu") + crawled_page("odd", "h", "", "Deutsch und noch viel mehr");
  CHECK(parse_crawl(crawl, {}).docnos ==
        "english mostly-german mostly-english unsaid by-metadata other-metadata text odd ");
  const Chosen german = parse_crawl(crawl, {{"deu"}, false});
  CHECK(german.docnos == "mostly-german by-metadata text ");
  CHECK(german.report.other_language == 3);
  CHECK(german.report.no_language == 2);
  CHECK(german.report.skipped == 3);
  CHECK(german.report.read == 11);
  CHECK(parse_crawl(crawl, {{"deu", "eng"}, false}).docnos == "english mostly-german mostly-english by-metadata text ");
  CHECK_THROWS_WITH(parse_crawl(crawl, {{"fra"}, false}), Catch::Contains("2 of which state no language"));
}

TEST_CASE("Of valid pages in a chosen language, the first one with a payload is kept", "[pipeline][crawl]") {
  const std::string crawl = crawled_page("gone", "x", "sha1:A", "eng", "410 Gone") +
                            crawled_page("first", "a", "sha1:A", "deu") + crawled_page("second", "a", "sha1:A", "eng") +
                            crawled_page("undigested", "a") + crawled_page("undigested-too", "a") +
                            crawled_page("other", "b", "sha1:B", "eng") + crawled_text("text", "b\n", "sha1:B", "eng") +
                            crawled_text("text-too", "c\n", "sha1:C", "eng") +
                            crawled_text("its-copy", "c\n", "sha1:C", "eng");
  const Chosen chosen = parse_crawl(crawl, {{}, true});
  CHECK(chosen.docnos == "first undigested undigested-too other text-too ");
  CHECK(chosen.report.copies == 3);
  CHECK(parse_crawl(crawl, {{"eng"}, true}).docnos == "second other text-too ");
}

TEST_CASE("The choice of pages depends neither on batches nor on threads or memory", "[pipeline][crawl][property]") {
  RandomBits random(11);
  std::string crawl;
  const char* const languages[] = {"eng", "deu", "fra"};
  for (int i = 0; i < 3000; ++i) {
    const std::string id = "p" + std::to_string(i), language = languages[random.below(3)];
    const bool in_metadata = random.below(2) == 0;
    crawl += crawled_page(id, std::string(random.below(300), 'x'), "sha1:" + std::to_string(random.below(2000)),
                          in_metadata ? "" : language);
    if (random.below(3) == 0) crawl += crawl_record("request", "r" + id, "", "GET / HTTP/1.1\r\n\r\n");
    if (in_metadata) crawl += crawled_metadata(id, language);
  }
  const PageChoice pages{{"deu", "eng"}, true};
  const Chosen expected = parse_crawl(crawl, pages);
  CHECK(expected.report.copies > 100);
  CHECK(expected.report.no_language == 0);
  CHECK(expected.report.indexed + expected.report.copies + expected.report.other_language == 3000);
  CHECK(parse_crawl(crawl, pages, 2 << 20, 5, 1 << 30).bytes == expected.bytes);
  const Chosen batched = parse_crawl(crawl, pages, 1000, 1);
  CHECK(parse_crawl(crawl, pages, 1000, 5, 1 << 30).bytes == batched.bytes);
  for (const std::uint64_t batch_bytes : {700, 5000, 50000})
    CHECK(parse_crawl(crawl, pages, batch_bytes).docnos == expected.docnos);
}

TEST_CASE("Payloads that don't fit into memory are an error that says how much is needed", "[pipeline][crawl]") {
  std::string crawl;
  for (int i = 0; i < 30000; ++i) crawl += crawled_page(std::to_string(i), "x", "sha1:" + std::to_string(i));
  CHECK(parse_crawl(crawl, {{}, true}, 2 << 20, 1, 4 << 20).report.indexed == 30000);
  CHECK_THROWS_WITH(parse_crawl(crawl, {{}, true}, 1 << 16, 1, 1 << 20),
                    Catch::Contains(option_name<"drop-copies">) &&
                        Catch::Contains(std::string("needs a ") + option_name<"memory"> + " of about 2"));
}

TEST_CASE("Invalid language codes, and languages for formats without them, are refused", "[pipeline][crawl]") {
  const std::string crawl = crawled_page("a", "b", "", "eng");
  CHECK_THROWS_WITH(parse_crawl(crawl, {{"en"}, false}), Catch::Contains("'en' is not an ISO 639-3 code"));
  CHECK_THROWS_AS(parse_crawl(crawl, {{"eng", "deu"}, false}), InvalidArgument);
  const TemporaryFolder folder;
  ParseOptions options;
  options.corpus = {folder.write("c.jsonl", "{\"id\":\"a\"}\n")};
  options.reader.format = "jsonl";
  options.pages.languages = {"eng"};
  File out = File::anonymous(folder.path(""));
  CHECK_THROWS_WITH(parse_corpus(options, default_resources(), out), Catch::Contains("does not state languages"));
}

}  // namespace quern
