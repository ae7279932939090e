#include <tbb/parallel_for.h>

#include <string>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/search/query_terms.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"

namespace quern {
namespace {

using namespace testing;

bool is_same(const std::optional<PostingList>& a, const std::optional<PostingList>& b) {
  if (!a || !b) return !a && !b;
  return a->number == b->number && a->df == b->df && a->words.data() == b->words.data() &&
         a->words.size() == b->words.size() && a->block_last.data() == b->block_last.data() &&
         a->impacts.data() == b->impacts.data();
}

}  // namespace

TEST_CASE("terms are found in the index, cached or not", "[query]") {
  IndexedCorpus corpus(91, {300, 90, 24, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {8, 1}, 8));
  std::vector<std::string> terms = corpus.terms(1000);
  REQUIRE(terms.size() > 50);
  for (std::size_t i = terms.size(); i > 0; --i) terms.push_back(terms[i - 1] + "x");  // not in the index
  for (const std::size_t max_terms : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 15}) {
    FoundTerms found(index, max_terms);
    std::vector<std::uint8_t> same(4000);
    tbb::parallel_for(std::size_t{0}, same.size(), [&](std::size_t i) {
      const std::string& term = terms[RandomBits(i).below(terms.size())];
      same[i] = is_same(found.find(term), index.find(term)) && is_same(found.find(term), index.find(term));
    });
    CHECK(std::count(same.begin(), same.end(), 1) == 4000);
  }
}

}  // namespace quern
