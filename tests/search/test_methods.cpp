#include <algorithm>
#include <iterator>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/search/hash_segments.hpp"
#include "quern/search/intersect.hpp"

#include "catch.hpp"

/// Intersection methods on decoded lists against the standard library's.
namespace quern {
namespace {

using Docids = std::vector<docid_t>;

/// `size` distinct docIDs below `limit`, ascending.
Docids random_docids(RandomBits& random, std::size_t size, docid_t limit) {
  Docids docids;
  while (docids.size() < size) {
    for (std::size_t i = docids.size(); i < size; ++i) docids.push_back(static_cast<docid_t>(random.below(limit)));
    std::sort(docids.begin(), docids.end());
    docids.erase(std::unique(docids.begin(), docids.end()), docids.end());
  }
  return docids;
}

Docids standard_intersection(const Docids& a, const Docids& b) {
  Docids common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

}  // namespace

TEST_CASE("methods on decoded lists find the common documents of lists of any length", "[intersect][property]") {
  RandomBits random(37);
  for (int trial = 0; trial < 600; ++trial) {
    const docid_t limit = 2000u << random.below(12);
    const Docids common = random_docids(random, random.below(random.below(2) == 0 ? 5 : 300), limit);
    const Docids list = random_docids(random, 1 + random.below(random.below(2) == 0 ? 5 : 1500), limit);
    const Docids wanted = standard_intersection(common, list);
    for (const IntersectionMethod& method : all_intersection_methods()) {
      REQUIRE((method.intersect_decoded == nullptr) != (method.intersect_coded == nullptr));
      if (!method.intersect_decoded) continue;
      for (const unsigned segment : {1u, 2u, 7u, 32u, 5000u}) {
        INFO(method.name << ", segments of " << segment << ", " << common.size() << " in " << list.size());
        Docids found = common;
        method.intersect_decoded(found, list, {segment});
        REQUIRE(found == wanted);
      }
    }
  }
}

TEST_CASE("methods find the lowest and the highest docID", "[intersect]") {
  for (const IntersectionMethod& method : all_intersection_methods()) {
    if (!method.intersect_decoded) continue;
    INFO(method.name);
    for (const Docids& common : {Docids{0}, Docids{end_docid - 1}, Docids{0, end_docid - 1}, Docids{}}) {
      Docids found = common;
      method.intersect_decoded(found, Docids{0, 5, end_docid - 1}, {2});
      CHECK(found == common);
      method.intersect_decoded(found, Docids{1}, {2});
      CHECK(found.empty());
    }
  }
}

TEST_CASE("a row is found in its bucket, and in no earlier row than asked for", "[intersect][property]") {
  RandomBits random(53);
  for (int trial = 0; trial < 300; ++trial) {
    const auto num_documents = static_cast<docid_t>(2001 + random.below(1u << (11 + random.below(20))));
    const Docids rows = random_docids(random, random.below(2000), num_documents);
    const RowBuckets buckets(rows, num_documents);
    REQUIRE(bucket_entries(num_documents, bucket_shift(num_documents, rows.size())) <= max_bucket_entries(rows.size()));
    for (int i = 0; i < 200; ++i) {
      const std::size_t from = random.below(rows.size() + 1);
      const auto docid = static_cast<docid_t>(random.below(num_documents));
      REQUIRE(buckets.search(from, docid) == search_rows(rows, from, docid));
    }
  }
}

TEST_CASE("an unknown method is refused with all names", "[intersect]") {
  CHECK(intersection_method_named("stride").uses_segment);
  CHECK_THROWS_AS(intersection_method_named("hash"), InvalidArgument);
  CHECK_THROWS_WITH(intersection_method_named("hash"),
                    Catch::Contains("block-skipping, hash-segments, galloping, stride, merge"));
}

}  // namespace quern
