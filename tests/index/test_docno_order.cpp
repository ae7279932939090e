#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/index/index_assembly.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

namespace quern {

TEST_CASE("docIDs are sorted by hash, then by docID, with and without temporary files", "[index]") {
  const testing::TemporaryFolder folder;
  for (const docid_t size : {0u, 1u, 4096u, 200000u}) {
    for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{1} << 26}) {
      INFO(size << " docIDs, " << memory << " bytes");
      RandomBits random(size);
      DocnoOrder order(folder.path(""), memory);
      std::vector<std::pair<std::uint64_t, docid_t>> expected;
      for (docid_t docid = 0; docid < size; ++docid) {
        // Some hashes are equal, others differ in only one half.
        const std::uint64_t hash = random.below(100) << 40 | random.below(100);
        order.add(hash, docid);
        expected.emplace_back(hash, docid);
      }
      std::sort(expected.begin(), expected.end());
      std::vector<docid_t> docids;
      order.merge([&](std::span<const docid_t> piece) { docids.insert(docids.end(), piece.begin(), piece.end()); });
      REQUIRE(docids.size() == size);
      for (docid_t i = 0; i < size; ++i) REQUIRE(docids[i] == expected[i].second);
    }
  }
}

}  // namespace quern
