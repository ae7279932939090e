#include <vector>

#include "quern/core/random.hpp"
#include "quern/search/document_set.hpp"

#include "catch.hpp"

/// Sets of documents, compared with arrays of flags.
namespace quern {
namespace {

std::vector<bool> flags_of(const DocumentSet& set) {
  std::vector<bool> flags(set.num_documents());
  for (docid_t docid = 0; docid < set.num_documents(); ++docid) flags[docid] = set.contains(docid);
  return flags;
}

DocumentSet set_of(const std::vector<bool>& flags) {
  DocumentSet set(static_cast<docid_t>(flags.size()));
  for (std::size_t docid = 0; docid < flags.size(); ++docid)
    if (flags[docid]) set.add(static_cast<docid_t>(docid));
  return set;
}

}  // namespace

TEST_CASE("sets of documents count, find and combine as arrays of flags do", "[query][filter][property]") {
  RandomBits random(3);
  for (const docid_t documents : {0u, 1u, 63u, 64u, 65u, 200u, 1024u}) {
    for (const std::uint64_t one_in : {1u, 2u, 50u}) {
      INFO(documents << " documents, one in " << one_in);
      std::vector<bool> a(documents), b(documents);
      for (docid_t docid = 0; docid < documents; ++docid) {
        a[docid] = random.below(one_in) == 0;
        b[docid] = random.below(2) == 0;
      }
      const DocumentSet set = set_of(a);
      REQUIRE(flags_of(set) == a);
      for (int pair = 0; pair < 200; ++pair) {
        const auto begin = static_cast<docid_t>(random.below(documents + 1));
        const auto end = begin + static_cast<docid_t>(random.below(documents + 1 - begin));
        docid_t first = begin;
        while (first < end && !a[first]) ++first;
        REQUIRE(set.next(begin, end) == first);
        std::uint64_t count = 0;
        for (docid_t docid = begin; docid < end; ++docid) count += a[docid];
        REQUIRE(set.count(begin, end) == count);
      }
      DocumentSet both = set, either = set;
      both.intersect(set_of(b));
      either.unite(set_of(b));
      for (docid_t docid = 0; docid < documents; ++docid) {
        REQUIRE(both.contains(docid) == (a[docid] && b[docid]));
        REQUIRE(either.contains(docid) == (a[docid] || b[docid]));
      }
    }
  }
}

}  // namespace quern
