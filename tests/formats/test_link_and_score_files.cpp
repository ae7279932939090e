#include <cmath>
#include <limits>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/checksum.hpp"

#include "catch.hpp"
#include "corpus/compressing.hpp"
#include "formats/page_example.hpp"

using namespace quern;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Scores = std::vector<std::pair<std::string, float>>;

Pairs links_of(const std::string& bytes) {
  Pairs links;
  read_pairs(*ByteSource::from_memory("links.tsv", bytes), "from<TAB>to",
             [&](std::string_view from, std::string_view to, std::uint64_t) { links.emplace_back(from, to); });
  return links;
}

Scores scores_of(const std::string& bytes) {
  Scores scores;
  read_scores(*ByteSource::from_memory("scores.txt", bytes),
              [&](const ScoreLine& line) { scores.emplace_back(line.document, line.score); });
  return scores;
}

}  // namespace

TEST_CASE("The examples of the pages on links and scores are read", "[format][links]") {
  const Pairs links = links_of(testing::page_block("tables/link_file.md", "links"));
  CHECK(links_of(testing::page_block("tables/topic_rankers.md", "rankers")) ==
        Pairs{{"51", "short.txt"}, {"53", "long.txt"}});
  CHECK(links == Pairs{{"M-1", "M-3"},
                       {"http://www.mill.example/wheel", "HTTP://WWW.mill.example:80/%73tone#top"},
                       {"M-1", "http://elsewhere.example/"}});
  const Scores scores = scores_of(testing::page_block("tables/score_file.md", "scores"));
  CHECK(scores == Scores{{"M-1", 0.25f}, {"M-2", 1e-3f}, {"http://www.mill.example/stone", 2.0f}, {"nobody", 7.0f}});
}

TEST_CASE("Links are lines of two columns, with any line ends", "[format][links]") {
  const Pairs want{{"a", "b c"}, {"d", "e"}};
  CHECK(links_of("a\tb c\nd\te\n") == want);
  CHECK(links_of("\xef\xbb\xbf  a\tb c \r\n\r\n \t\nd\te") == want);
  CHECK(links_of(testing::gzipped("a\tb c\nd\te\n")) == want);
  CHECK(links_of("").empty());
  for (const std::string bad : {"a b", "a\t", "\tb", "a\t \t", "a\tb\tc"}) {
    INFO(bad);
    CHECK_THROWS_WITH(links_of("x\ty\n\n" + bad + "\n"), Catch::Contains("links.tsv, line 3: "));
    CHECK_THROWS_AS(links_of(bad), CorruptFile);
  }
  CHECK_THROWS_AS(links_of(std::string(2 << 20, 'x')), CorruptFile);
}

TEST_CASE("Scores are the last words of their lines", "[format][links]") {
  CHECK(scores_of("a b\t 1\n\n c  2e2 \r\nd +0\ne -0.0\nf 1e-46") ==
        Scores{{"a b", 1.0f}, {"c", 200.0f}, {"d", 0.0f}, {"e", 0.0f}, {"f", 0.0f}});
  const float most = std::numeric_limits<float>::max();
  CHECK(scores_of("a 3.4028234663852886e38") == Scores{{"a", most}});
  CHECK_FALSE(std::signbit(scores_of("a -0.0").front().second));
  for (const std::string bad : {"a", "a b", "a nan", "a -nan", "a inf", "a -inf", "a -1", "a -1e-300", "a 1e39",
                                "a 1e999", "a 1,5", "a 0x1", "a +", "a ++1", "a 1.5x", "1"}) {
    INFO(bad);
    CHECK_THROWS_WITH(scores_of("x 1\n\n" + bad + "\n"), Catch::Contains("scores.txt, line 3: "));
    CHECK_THROWS_AS(scores_of(bad), CorruptFile);
  }
}

TEST_CASE("A source's hash is that of all its bytes, however they are read", "[corpus]") {
  const std::string bytes(100000, 'q');
  HashingSource source(ByteSource::from_memory("q", testing::gzipped(bytes)));
  Bytes buffer(777);
  while (source.read(buffer) > 0) {
  }
  CHECK(source.hash() == xxh3(as_bytes(bytes)));
}
