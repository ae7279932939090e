#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/compressing.hpp"
#include "index/pipeline/crawl.hpp"

/// Crawls like those of Common Crawl: languages, copies, WET files and damage.
namespace quern {
namespace {

using namespace testing;

std::string small_crawl() {
  std::string crawl;
  for (const std::string& record :
       {crawled_page("one", "water mill", "sha1:A"), crawled_metadata("one", "eng"),
        crawled_page("zwei", "Wassermühle", "sha1:B"), crawled_metadata("zwei", "deu"),
        crawled_page("copy", "water mill", "sha1:A", "eng"), crawled_page("unsaid", "mill", "sha1:C"),
        crawled_text("text", "Mills\nA mill grinds.\n", "sha1:D", "eng,deu")})
    crawl += gzipped(record);
  return crawl;
}

}  // namespace

TEST_CASE("pages are skipped by language and payload and counted, and the settings are recorded", "[cli][crawl]") {
  const TemporaryFolder folder;
  const std::string crawl = folder.write("crawl.warc.gz", small_crawl()), index = folder.path("index");
  const RunOutcome all = run_quern({"index", crawl, "-o", folder.path("all"), "--json"});
  CHECK(all.json()["parse"]["indexed"] == 5);
  CHECK_FALSE(contains(run_quern({"inspect", folder.path("all"), "--config"}).out, "languages"));

  const RunOutcome some = run_quern({"index", crawl, "-o", index, "--languages", "fra,eng", "--drop-copies", "--json"});
  INFO(some.err);
  REQUIRE(some.exit_status == 0);
  const auto parsed = some.json()["parse"];
  CHECK(parsed["read"] == 7);
  CHECK(parsed["indexed"] == 2);
  CHECK(parsed["skipped"] == 2);
  CHECK(parsed["other_language"] == 1);
  CHECK(parsed["no_language"] == 1);
  CHECK(parsed["copies"] == 1);
  CHECK(parsed["bad"] == 0);
  CHECK(contains(some.err, "skipped 1 page in other languages, and 1 that state none"));
  CHECK(contains(some.err, "skipped 1 copy of earlier pages"));
  CHECK(contains(run_quern({"query", index, "--query", "mills", "--fields", "title", "--output-format", "json"}).out,
                 "Mills"));

  const std::string config = run_quern({"inspect", index, "--config"}).out;
  CHECK(contains(config, "languages = eng,fra\ndrop-copies = true\n"));
  REQUIRE(run_quern({"index", crawl, "-o", folder.path("again"), "--config", folder.write("my.conf", config)})
              .exit_status == 0);
  CHECK(read_file(folder.path("again/index.quern")) == read_file(index + "/index.quern"));
}

TEST_CASE("invalid language codes are wrong usage, and no page in any of the languages is an error", "[cli][crawl]") {
  const TemporaryFolder folder;
  const std::string crawl = folder.write("crawl.warc.gz", small_crawl()), output = folder.path("out");
  for (const char* wrong : {"en", "english", "ENG", ""}) {
    const RunOutcome outcome = run_quern({"parse", crawl, "-o", output, "--languages", wrong});
    INFO(wrong << ": " << outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "--languages"));
  }
  const RunOutcome none = run_quern({"parse", crawl, "-o", output, "--languages", "fra"});
  CHECK(none.exit_status == 1);
  CHECK(contains(none.err, "5 excluded by --languages, 1 of which state no language"));
}

TEST_CASE("any number of bad records and damaged members of gzip files are skipped on request", "[cli][crawl]") {
  const TemporaryFolder folder;
  const std::string sound = gzipped(crawled_page("1", "water mill and water wheel"));
  std::string crawl = sound + sound.substr(0, sound.size() / 2) + gzipped(crawled_page("2", "wind mill"));
  for (int i = 0; i < 1200; ++i) crawl += gzipped(crawl_record("response", "", "", "HTTP/1.1 200 OK\r\n\r\nx"));
  const std::string path = folder.write("crawl.warc.gz", crawl), output = folder.path("out");
  const RunOutcome damaged = run_quern({"index", path, "-o", output});
  CHECK(damaged.exit_status == 1);
  CHECK(contains(damaged.err, "damaged gzip data"));
  CHECK(run_quern({"index", path, "-o", output, "--skip-bad", "--max-errors", "5"}).exit_status == 2);

  const RunOutcome skipped = run_quern({"index", path, "-o", output, "--skip-bad", "--json"});
  INFO(skipped.err);
  REQUIRE(skipped.exit_status == 0);
  const auto parsed = skipped.json()["parse"];
  CHECK(parsed["indexed"] == 2);
  CHECK(parsed["bad"] == 1201);
  CHECK(parsed["bad_documents"].size() == 100);
  CHECK(contains(skipped.err, "more bad documents"));
  const std::string cut = folder.write("cut.warc.gz", sound + sound.substr(0, sound.size() / 2));
  CHECK(contains(run_quern({"index", cut, "-o", output, "--skip-bad", "--force"}).err,
                 cut + ": byte " + std::to_string(sound.size()) + " of the compressed file: a truncated gzip member"));
}

}  // namespace quern
