#include <algorithm>
#include <numeric>

#include "quern/core/random.hpp"
#include "quern/order/order.hpp"
#include "quern/text/url.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "order/first_documents.hpp"

using namespace quern;
using quern::testing::Page;
using quern::testing::TemporaryFolder;

namespace {

std::vector<docid_t> compute(const CollectionReader& collection, const TemporaryFolder& folder, OrderBy by,
                             std::uint64_t seed = 1, std::uint64_t memory_bytes = 1 << 20, unsigned threads = 2) {
  OrderOptions options;
  options.by = by;
  options.seed = seed;
  return make_order(collection, options, {}, testing::small_resources(folder, threads, memory_bytes)).documents;
}

std::vector<Page> pages_with_urls(std::size_t count, std::uint64_t without_one_in) {
  RandomBits random(53);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    Page page{"d" + std::to_string(i), "", "", "text"};
    if (random.below(without_one_in) != 0) {
      const char* hosts[] = {"www.b.example", "a.example", "b.example", "www.a.example:8080"};
      // Few paths: some URLs occur twice, and the corpus's order decides.
      page.url = std::string("http://") + hosts[random.below(4)] + "/" + std::to_string(random.below(count / 4)) +
                 std::string(random.below(400), 'x');
    }
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace

TEST_CASE("The natural order is the corpus's", "[order]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, pages_with_urls(100, 3));
  CHECK(compute(collection, folder, OrderBy::natural) == testing::first_documents(100));
}

TEST_CASE("The random order is a permutation that depends only on its seed", "[order]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, pages_with_urls(500, 3));
  const std::vector<docid_t> first = compute(collection, folder, OrderBy::random, 1);
  CHECK(compute(collection, folder, OrderBy::random, 1, 1 << 28, 1) == first);
  CHECK(compute(collection, folder, OrderBy::random, 2) != first);
  CHECK(first != testing::first_documents(500));
  std::vector<docid_t> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == testing::first_documents(500));
  // The Fisher-Yates shuffle with the numbers of seed 1: the same on every system.
  const CollectionReader tiny = testing::collection_of(folder, pages_with_urls(5, 3));
  RandomBits random(1);
  std::vector<docid_t> wanted = testing::first_documents(5);
  for (std::size_t i = 5; i > 1; --i) std::swap(wanted[i - 1], wanted[random.below(i)]);
  CHECK(compute(tiny, folder, OrderBy::random, 1) == wanted);
}

TEST_CASE("The URL order sorts by host and path, documents without a URL last", "[order][property]") {
  const TemporaryFolder folder;
  // Keys of about 200 bytes: more than the minimum of one megabyte for sorting.
  const std::vector<Page> pages = pages_with_urls(6000, 5);
  const CollectionReader collection = testing::collection_of(folder, pages, 100000);
  REQUIRE(collection.manifest().documents_without_url > 500);
  std::vector<docid_t> wanted = testing::first_documents(pages.size());
  std::stable_sort(wanted.begin(), wanted.end(), [&](docid_t a, docid_t b) {
    const std::string &a_url = pages[a].url, &b_url = pages[b].url;
    if (a_url.empty() || b_url.empty()) return !a_url.empty() && b_url.empty();
    return url_order_key(a_url) < url_order_key(b_url);
  });
  CHECK(compute(collection, folder, OrderBy::url) == wanted);
  CHECK(compute(collection, folder, OrderBy::url, 1, 1 << 30, 1) == wanted);
}

TEST_CASE("URL order keeps pages of a host together and compares host labels from the last to the first", "[order]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, {{"0", "http://b.example/2", "", "x"},
                                                                      {"1", "", "", "x"},
                                                                      {"2", "http://www.a.example/", "", "x"},
                                                                      {"3", "http://b.example/1", "", "x"},
                                                                      {"4", "http://a.example/z", "", "x"},
                                                                      {"5", "http://a.test/", "", "x"}});
  CHECK(compute(collection, folder, OrderBy::url) == std::vector<docid_t>{4, 2, 3, 0, 5, 1});
}

TEST_CASE("Each order has a method, and auto chooses url if all documents have a URL", "[order]") {
  for (const OrderMethod& order : all_orders()) {
    CHECK(&order_method(order.by) == &order);
    CHECK_FALSE(order.description.empty());
  }
  CollectionManifest manifest;
  CHECK(automatic_order(manifest) == OrderBy::url);
  manifest.documents_without_url = 1;
  CHECK(automatic_order(manifest) == OrderBy::natural);
}

TEST_CASE("An order that does not fit in memory is refused before it is computed", "[order]") {
  const TemporaryFolder folder;
  const Resources resources = testing::small_resources(folder, 1, 8000);
  CHECK_NOTHROW(check_order_memory("an order of 1000 documents", 8000, resources));
  CHECK_THROWS_AS(check_order_memory("an order of 1001 documents", 8008, resources), InvalidArgument);
  const CollectionReader collection = testing::collection_of(folder, pages_with_urls(20, 3));
  for (const OrderMethod& order : all_orders())
    CHECK_THROWS_AS(compute(collection, folder, order.by, 1, 100), InvalidArgument);
}
