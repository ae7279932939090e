#include "quern/api/quern.hpp"

#include "catch.hpp"
#include "corpus/compressing.hpp"
#include "corpus/temporary_folder.hpp"
#include "index/pipeline/crawl.hpp"

/// Options of crawls in the library's interface.
namespace quern {

using namespace testing;

TEST_CASE("crawls are filtered by language and payload, and damage is skipped", "[api][crawl]") {
  const TemporaryFolder folder;
  const std::string eng = gzipped(crawled_page("one", "water mill", "sha1:A", "eng"));
  const std::string crawl =
      folder.write("crawl.warc.gz", eng + gzipped(crawled_page("zwei", "m", "sha1:B", "deu")) +
                                        gzipped(crawled_page("copy", "c", "sha1:A", "eng")) + eng.substr(0, 40));
  api::CorpusOptions reading;
  CHECK_THROWS_AS(api::build_index({crawl}, folder.path("none"), {}, reading), api::Error);
  reading.skip_bad = true;
  reading.languages = {"fra", "eng", "fra"};
  reading.drop_copies = true;
  const api::IndexReport report = api::build_index({crawl}, folder.path("some"), {}, reading);
  CHECK(report.documents == 1);
  CHECK(report.left_out == 2);
  CHECK(report.bad == 1);
  reading.languages = {"en"};
  try {
    api::build_index({crawl}, folder.path("wrong"), {}, reading);
    FAIL("a wrong code was taken");
  } catch (const api::Error& error) {
    CHECK(error.option() == "languages");
  }
}

}  // namespace quern
