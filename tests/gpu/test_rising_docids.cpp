#include <algorithm>
#include <set>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/device/searches.hpp"
#include "quern/gpu/intersect/intersect_method.hpp"
#include "quern/gpu/intersect/merge_find.hpp"
#include "quern/gpu/intersect/unpacked_lists.hpp"

#include "catch.hpp"

/// Searches in kernels, compared with the standard library's.
namespace quern::gpu {
namespace {

using Docids = std::vector<std::uint32_t>;

Docids random_docids(RandomBits& random, std::size_t size, std::uint64_t limit) {
  Docids docids;
  for (std::size_t i = 0; i < size; ++i) docids.push_back(static_cast<std::uint32_t>(random.below(limit)));
  std::sort(docids.begin(), docids.end());
  docids.erase(std::unique(docids.begin(), docids.end()), docids.end());
  return docids;
}

std::uint32_t expected_place(const Docids& docids, std::uint32_t docid) {
  return static_cast<std::uint32_t>(std::lower_bound(docids.begin(), docids.end(), docid) - docids.begin());
}

/// The results of all passes, with each element looked up separately.
Docids found_by_passes(const Docids& a, const Docids& b, unsigned levels) {
  const auto a_count = static_cast<std::uint32_t>(a.size()), b_count = static_cast<std::uint32_t>(b.size());
  Docids found(a.size(), 0xdeadbeefu);
  const MergeFindPasses passes(a_count, levels);
  REQUIRE(passes.passes() == levels + 1);
  REQUIRE(passes.stride(levels) == 1);
  for (unsigned pass = 0; pass < passes.passes(); ++pass)
    for (std::uint32_t i = 0; i < a_count; i += passes.stride(pass))
      if (!passes.looked_up(i, pass)) {
        REQUIRE(found[i] == 0xdeadbeefu);
        found[i] = merge_find(passes, pass, a.data(), a_count, i, b.data(), b_count, found.data());
      }
  return found;
}

}  // namespace

TEST_CASE("a search with several reads at a time finds each value's place", "[gpu_search][property]") {
  RandomBits random(3);
  for (std::size_t size = 0; size < 300; ++size) {
    const Docids docids = random_docids(random, size, 2 * size + 2);
    const auto count = static_cast<std::uint32_t>(docids.size());
    for (std::uint32_t docid = 0; docid <= 2 * size + 3; ++docid)
      REQUIRE(lower_bound_by_eighths(docids.data(), count, docid) == expected_place(docids, docid));
  }
}

TEST_CASE("a search from a guess finds each value's place, however the values are spread", "[gpu_search][property]") {
  RandomBits random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t size = random.below(random.below(2) == 0 ? 30 : 3000);
    // Evenly over all numbers, or in a few places of that width.
    const std::uint64_t width = std::uint64_t{1} << (12 + random.below(21)), places = 1 + random.below(4);
    std::vector<std::uint64_t> first(places);
    for (std::uint64_t& place : first) place = random.below((std::uint64_t{1} << 32) - width + 1);
    std::set<std::uint32_t> drawn;
    for (std::uint64_t i = 0; i < size; ++i)
      drawn.insert(static_cast<std::uint32_t>(first[random.below(places)] + random.below(width)));
    const Docids values(drawn.begin(), drawn.end());
    const auto count = static_cast<std::uint32_t>(values.size());
    const auto check = [&](std::uint32_t value) {
      REQUIRE(lower_bound_by_guess(values.data(), count, value) == expected_place(values, value));
    };
    for (const std::uint32_t value : values)
      for (const std::uint32_t near : {value - 1, value, value + 1}) check(near);
    for (int i = 0; i < 100; ++i) check(static_cast<std::uint32_t>(random.next()));
    check(0);
    check(0xffffffffu);
  }
}

TEST_CASE("merge find gives each element's position, with any number of levels of splitters",
          "[gpu_search][property]") {
  RandomBits random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const std::uint64_t limit = 10u << random.below(20);
    const Docids a = random_docids(random, random.below(random.below(2) == 0 ? 20 : 1500), limit);
    const Docids b = random_docids(random, random.below(random.below(2) == 0 ? 20 : 3000), limit);
    Docids expected;
    for (const std::uint32_t docid : a) expected.push_back(expected_place(b, docid));
    for (unsigned levels = 0; levels <= max_merge_find_levels; ++levels) {
      INFO(a.size() << " in " << b.size() << ", " << levels << " levels");
      REQUIRE(found_by_passes(a, b, levels) == expected);
    }
  }
}

TEST_CASE("merge find stays within lists that do not ascend", "[gpu_search][property]") {
  RandomBits random(11);
  for (int trial = 0; trial < 200; ++trial) {
    Docids a(1 + random.below(300)), b(random.below(300));
    for (Docids* list : {&a, &b})
      for (std::uint32_t& docid : *list) docid = static_cast<std::uint32_t>(random.below(1000));
    for (unsigned levels = 0; levels <= max_merge_find_levels; ++levels)
      for (const std::uint32_t place : found_by_passes(a, b, levels)) REQUIRE(place <= b.size());
  }
}

TEST_CASE("a document is found in its bucket, and no other", "[gpu_search][property]") {
  RandomBits random(13);
  for (int trial = 0; trial < 300; ++trial) {
    const auto num_documents = static_cast<std::uint32_t>(1 + random.below(1u << random.below(20)));
    const Docids list = random_docids(random, 1 + random.below(2000), num_documents);
    const auto df = static_cast<std::uint32_t>(list.size());
    const std::uint8_t shift = bucket_shift(num_documents, df);
    Docids starts(bucket_entries(num_documents, shift));
    for (std::uint32_t i = 0; i < starts.size(); ++i) starts[i] = bucket_start(list.data(), df, shift, 0, i);
    REQUIRE(starts.front() == 0);
    REQUIRE(starts.back() == df);
    for (int i = 0; i < 200; ++i) {
      const auto docid = static_cast<std::uint32_t>(random.below(num_documents));
      REQUIRE(bucket_has(list.data(), df, starts.data(), shift, 0, docid) ==
              std::binary_search(list.begin(), list.end(), docid));
    }
  }
}

TEST_CASE("buckets hold about eight postings, for any collection", "[gpu_search]") {
  CHECK(bucket_shift(25205179, 1000) == 17);
  CHECK(bucket_shift(25205179, 25205179) == 3);
  CHECK(bucket_shift(0xfffffffeu, 1) == 31);
  CHECK(bucket_shift(1, 1) == 3);
  CHECK(bucket_shift(0, 0) == 0);
  // A directory that extends to the end of all docIDs.
  const Docids list = {0, 0xfffffffdu};
  CHECK(bucket_start(list.data(), 2, 31, 0, 0) == 0);
  CHECK(bucket_start(list.data(), 2, 31, 0, 1) == 1);
  CHECK(bucket_start(list.data(), 2, 31, 0, 2) == 2);
}

TEST_CASE("Wu's buckets are ten of 1,000 and ten of 10,000", "[gpu_search]") {
  CHECK(length_bucket(0) == 0);
  CHECK(length_bucket(999) == 0);
  CHECK(length_bucket(1000) == 1);
  CHECK(length_bucket(9999) == 9);
  CHECK(length_bucket(10000) == 10);
  CHECK(length_bucket(19999) == 10);
  CHECK(length_bucket(100000) == 19);
  CHECK(length_bucket(25205179) == 19);
}

}  // namespace quern::gpu
