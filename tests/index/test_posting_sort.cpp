#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/index/list_source.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

/// Sorts copies with several thread counts, and compares with the standard library's sort.
void check_sort(const std::vector<Posting>& postings) {
  std::vector<Posting> wanted = postings;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Posting& a, const Posting& b) {
    return std::tie(a.term, a.docid) < std::tie(b.term, b.docid);
  });
  for (const unsigned threads : {1u, 2u, 16u}) {
    std::vector<Posting> ours = postings, scratch(3);
    sort_postings(ours, scratch, threads);
    REQUIRE(ours == wanted);
    REQUIRE(scratch.size() == postings.size());
  }
}

std::vector<Posting> random_postings(std::size_t count, std::uint64_t terms, std::uint64_t docids) {
  RandomBits random(count + terms);
  std::vector<Posting> postings;
  for (std::size_t i = 0; i < count; ++i) {
    // The frequency distinguishes postings with equal term and docID.
    postings.push_back({static_cast<term_t>(random.below(terms)), static_cast<docid_t>(random.below(docids)),
                        static_cast<freq_t>(i + 1)});
  }
  return postings;
}

}  // namespace

TEST_CASE("Postings are sorted by term and docID with any number of threads", "[index][property]") {
  check_sort({});
  check_sort({{5, 7, 1}});
  check_sort({{1, 2, 1}, {1, 1, 2}, {0, 9, 3}});
  check_sort(random_postings(1000, 1, 1));
  check_sort(random_postings(1000, 10, 10));
  check_sort(random_postings(20000, 3000, end_docid));
  check_sort(random_postings(20000, end_docid, 100));
  check_sort(random_postings(200000, 50000, 1 << 22));
  check_sort(random_postings(100000, std::uint64_t{1} << 32, std::uint64_t{1} << 32));
}

TEST_CASE("Numbers around the size of a sort digit are sorted", "[index][property]") {
  for (const unsigned bits : {1u, 10u, 11u, 12u, 21u, 22u, 23u, 31u, 32u})
    check_sort(random_postings(500, std::uint64_t{1} << bits, std::uint64_t{1} << bits));
}

TEST_CASE("Sorted postings stay sorted", "[index]") {
  std::vector<Posting> postings = random_postings(50000, 100, 1 << 20), scratch;
  sort_postings(postings, scratch, 1);
  check_sort(postings);
  std::reverse(postings.begin(), postings.end());
  check_sort(postings);
}

TEST_CASE("Postings in document order are sorted", "[index][property]") {
  RandomBits random(7);
  for (const std::size_t per_document : {31u, 33u, 500u}) {
    for (const std::uint64_t terms : {1u, 600u, 100000u}) {
      INFO(per_document << " postings a document, " << terms << " terms");
      std::vector<Posting> postings;
      while (postings.size() < 60000) {
        // A document may recur, like those split over chunks.
        const auto docid = static_cast<docid_t>(random.below(1000));
        const std::size_t size = 1 + random.below(2 * per_document);
        for (std::size_t i = 0; i < size; ++i)
          postings.push_back({static_cast<term_t>(random.below(terms)), docid, static_cast<freq_t>(postings.size())});
      }
      check_sort(postings);
    }
  }
}
