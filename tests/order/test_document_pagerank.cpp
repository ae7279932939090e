#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/order/order.hpp"
#include "quern/order/pagerank.hpp"

#include "catch.hpp"
#include "order/linked_pages.hpp"

using namespace quern;
using quern::testing::LinkedPage;
using quern::testing::TemporaryFolder;

namespace {

std::vector<LinkedPage> three_pages(bool linked) {
  return {{"a", "http://h.example/c", linked ? "<a href='/b'>x</a>" : ""},
          {"b", "http://h.example/b", ""},
          {"c", "http://h.example/a", linked ? "<a href='/b'>x</a>" : ""}};
}

struct Made {
  DocumentOrder order;
  PagerankReport report;
};

Made make(const CollectionReader& collection, const TemporaryFolder& folder, OrderBy by,
          const PagerankInput& pagerank = {}, PagerankScale scale = PagerankScale::linear) {
  OrderOptions options;
  options.by = by;
  options.scores.pagerank_scale = scale;
  Made made;
  made.order = make_order(collection, options, pagerank, testing::small_resources(folder), &made.report);
  return made;
}

}  // namespace

TEST_CASE("Every order has PageRank by docID from links on request", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(true));
  // a = c = x, b = x + 1.7 x.
  const float low = static_cast<float>(1 / 2.7);
  for (const OrderMethod& method : all_orders()) {
    const Made made = make(collection, folder, method.by, {PagerankFrom::links, {}});
    INFO(method.name());
    REQUIRE(made.order.pagerank.size() == 3);
    for (docid_t docid = 0; docid < 3; ++docid)
      CHECK(made.order.pagerank[docid] == Approx(made.order.documents[docid] == 1 ? 1.0f : low));
    CHECK(made.order.pagerank_origin == PagerankOrigin{PagerankSource::links, ""});
    CHECK(made.report.links.edges == 2);
    CHECK(made.report.dangling == 1);
    CHECK_FALSE(made.report.all_the_same);
  }
}

TEST_CASE("By default only the order that needs PageRank has it, from links", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(true));
  for (const OrderMethod& method : all_orders()) {
    const Made made = make(collection, folder, method.by);
    INFO(method.name());
    CHECK(made.order.pagerank.size() == (method.needs_pagerank ? 3 : 0));
    CHECK(made.order.pagerank_origin.source ==
          (method.needs_pagerank ? PagerankSource::links : PagerankSource::unknown));
    CHECK(made.report.links.links == (method.needs_pagerank ? 2 : 0));
    const PagerankInput nothing{PagerankFrom::nothing, {}};
    if (method.needs_pagerank) {
      CHECK_THROWS_WITH(make(collection, folder, method.by, nothing), Catch::Contains("needs PageRank"));
    } else {
      CHECK(make(collection, folder, method.by, nothing).order.documents == made.order.documents);
    }
  }
}

TEST_CASE("PageRank is absent, from links or from a file, and a link file excludes the others", "[order][pagerank]") {
  const auto is = [](const PagerankInput& input, PagerankFrom from, const std::string& file = {}) {
    return input.from == from && input.file == file;
  };
  CHECK(is(pagerank_input("", ""), PagerankFrom::if_needed));
  CHECK(is(pagerank_input("none", ""), PagerankFrom::nothing));
  CHECK(is(pagerank_input("links", ""), PagerankFrom::links));
  CHECK(is(pagerank_input("./links", ""), PagerankFrom::score_file, "./links"));
  CHECK(is(pagerank_input("", "file"), PagerankFrom::link_file, "file"));
  CHECK(is(pagerank_input("links", "file"), PagerankFrom::link_file, "file"));
  CHECK_THROWS_AS(pagerank_input("none", "file"), InvalidArgument);
  CHECK_THROWS_WITH(pagerank_input("scores", "file"),
                    Catch::Contains(std::string("omit ") + option_name<"pagerank"> + " scores"));
}

TEST_CASE("Pages without links all have the same PageRank", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(false));
  for (const OrderMethod& method : all_orders()) {
    const Made made = make(collection, folder, method.by, {PagerankFrom::links, {}});
    INFO(method.name());
    CHECK(made.order.pagerank == std::vector<float>(3, 1.0f));
    CHECK(made.order.pagerank_origin.source == PagerankSource::uniform);
    CHECK(made.report.all_the_same);
  }
}

TEST_CASE("A link file replaces the pages' own links", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(true));
  const Made made = make(collection, folder, OrderBy::natural,
                         {PagerankFrom::link_file, folder.write("links", "b\ta\nb\tc\nb\tx\n")});
  CHECK(made.order.pagerank[0] == 1);
  CHECK(made.order.pagerank[2] == 1);
  CHECK(made.order.pagerank[1] < 1);
  CHECK(made.order.pagerank_origin.source == PagerankSource::link_file);
  CHECK(made.order.pagerank_origin.file_hash.size() == 16);
  CHECK(made.report.links.unknown == 1);
  const Made none =
      make(collection, folder, OrderBy::natural, {PagerankFrom::link_file, folder.write("no_links", "\n")});
  CHECK(none.order.pagerank == std::vector<float>(3, 1.0f));
  CHECK(none.report.all_the_same);
}

TEST_CASE("Scores in a file are used unchanged, missing ones as 0", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(true));
  const PagerankInput input{PagerankFrom::score_file, folder.write("scores", "http://h.example/b\t8\nnobody 3\na 2\n")};
  const Made made = make(collection, folder, OrderBy::natural, input);
  CHECK(made.order.pagerank == std::vector<float>{0.25f, 1.0f, 0.0f});
  CHECK(made.order.pagerank_origin.source == PagerankSource::score_file);
  CHECK(made.report.scores == 2);
  CHECK(made.report.unknown == 1);
  CHECK(made.report.missing == 1);
  for (const auto& scale : pagerank_scales) {
    const Made scaled = make(collection, folder, OrderBy::score, input, scale.value);
    CHECK(*std::max_element(scaled.order.pagerank.begin(), scaled.order.pagerank.end()) == 1);
  }
}

TEST_CASE("PageRank is the same if names and links do not fit in memory", "[order][pagerank][property]") {
  const TemporaryFolder folder;
  RandomBits random(7);
  constexpr docid_t count = 300;
  std::vector<LinkedPage> pages;
  std::string link_lines, score_lines;
  const auto url = [](std::uint64_t page) { return "http://h.example/p" + std::to_string(page); };
  // A name of one page is the URL of another; some pages share a URL or a docno.
  const auto name = [&](std::uint64_t page) { return random.below(2) == 0 ? url(page) : "d" + std::to_string(page); };
  for (docid_t i = 0; i < count; ++i) {
    std::string body;
    for (std::uint64_t links = random.below(9); links > 0; --links)
      body += "<a href='" + url(random.below(count)) + "'>x</a>";
    const std::uint64_t docno = i % 40 == 7 ? i - 1 : i;
    pages.push_back({i % 50 == 3 ? url(i + 1) : "d" + std::to_string(docno), i % 30 == 5 ? url(i - 1) : url(i), body});
    for (std::uint64_t links = random.below(4); links > 0; --links)
      link_lines += name(i) + "\t" + name(random.below(count + 20)) + "\n";
    if (i % 3 == 0 && i % 40 != 6 && i % 30 != 5 && i % 50 != 3)
      score_lines += "d" + std::to_string(i) + " " + std::to_string(random.below(1000)) + "\n";
  }
  score_lines += "nobody 1\n";
  const CollectionReader collection = testing::linked_collection(folder, pages);
  for (const PagerankInput& input :
       {PagerankInput{PagerankFrom::links, {}},
        PagerankInput{PagerankFrom::link_file, folder.write("links.tsv", link_lines)},
        PagerankInput{PagerankFrom::score_file, folder.write("scores.txt", score_lines)}}) {
    const auto make_in = [&](std::uint64_t memory_bytes) {
      return document_pagerank(collection, input, testing::small_resources(folder, 2, memory_bytes));
    };
    // 20 bytes per document, while tables of names and links take more than twice that.
    const DocumentPagerank large = make_in(64 << 20), small = make_in(count * 20);
    CHECK(small.ranks == large.ranks);
    CHECK(small.report.links == large.report.links);
    CHECK(small.report.origin == large.report.origin);
    CHECK(small.report.dangling == large.report.dangling);
    CHECK(small.report.scores == large.report.scores);
    CHECK(small.report.unknown == large.report.unknown);
    CHECK(small.report.missing == large.report.missing);
    CHECK_FALSE(large.report.all_the_same);
  }
}

TEST_CASE("PageRank that needs too much memory is refused before reading", "[order][pagerank]") {
  const TemporaryFolder folder;
  const Resources resources = testing::small_resources(folder, 16, 64 << 20);
  OrderOptions url;
  url.by = OrderBy::url;
  CollectionManifest manifest;
  manifest.documents = 2'000'000;
  CHECK_NOTHROW(check_order("c.quern", manifest, url, {}, resources));
  CHECK_NOTHROW(check_order("c.quern", manifest, url, {PagerankFrom::links, {}}, resources));
  manifest.documents = 4'000'000;
  CHECK_NOTHROW(check_order("c.quern", manifest, url, {}, resources));
  CHECK_THROWS_WITH(check_order("c.quern", manifest, url, {PagerankFrom::links, {}}, resources),
                    Catch::Contains("c.quern: PageRank of 4000000 documents needs"));
  manifest.documents = 9'000'000;
  CHECK_THROWS_WITH(check_order("c.quern", manifest, url, {}, resources),
                    Catch::Contains("c.quern: the order url of 9000000 documents"));
}

TEST_CASE("A score file that names a document twice is refused with the line", "[order][pagerank]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(folder, three_pages(true));
  const std::string file = folder.write("scores", "a 2\n\nnobody 1\nnobody 1\nhttp://h.example/c 2\n");
  for (const std::uint64_t memory_bytes : {100, 1 << 20})
    CHECK_THROWS_WITH(document_pagerank(collection, {PagerankFrom::score_file, file},
                                        testing::small_resources(folder, 2, memory_bytes)),
                      Catch::Contains("scores, line 5: "));
}
