#include "quern/core/random.hpp"
#include "quern/index/inverter.hpp"
#include "quern/index/weighed_lists.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "index/met_lists.hpp"

/// Weights of lists in memory and on disk.
namespace quern {
namespace {

using namespace testing;

constexpr docid_t weighed_documents = 30000;
constexpr term_t weighed_terms = 40;

MetLists weighed(std::uint64_t memory, const std::vector<std::uint32_t>& lengths, std::size_t& runs,
                 bool given_counts) {
  const TemporaryFolder folder;
  Inverter inverter(folder.path(""), memory, 2);
  RandomBits random(9);
  std::vector<TermCounts> counts(weighed_terms);
  for (docid_t docid = 0; docid < weighed_documents; ++docid) {
    for (term_t term = 0; term < weighed_terms; ++term) {
      if (term > 1 && random.below(term * term) > 0) continue;
      const Posting posting{term, docid, static_cast<freq_t>(1 + random.below(9))};
      inverter.add(std::span(&posting, 1));
      counts[term] += {1, posting.freq};
    }
  }
  const auto lists = inverter.finish(2);
  runs = inverter.num_runs();
  const Weighting weighting = read_weighting("dph");
  const CollectionStatistics statistics{weighed_documents, 10 * std::uint64_t{weighed_documents}};
  WeighedLists::CountsOf counts_of;
  if (given_counts) counts_of = [&](term_t term) { return counts[term]; };
  WeighedLists source(*lists, {weighting, statistics, impacts_of_weighting(weighting, statistics, 16), lengths},
                      counts_of, folder.path(""));
  return met_lists(source);
}

}  // namespace

TEST_CASE("lists on disk get the weights of lists in memory", "[index][weighting]") {
  std::vector<std::uint32_t> lengths(weighed_documents);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::uint32_t>(10 + i % 97);
  std::size_t runs = 0;
  const MetLists in_memory = weighed(64 << 20, lengths, runs, false);
  CHECK(runs == 0);
  const auto same = [](const Posting& one, const Posting& other) {
    return one.term == other.term && one.docid == other.docid && one.freq == other.freq;
  };
  for (const bool given_counts : {false, true}) {
    const MetLists on_disk = weighed(256 << 10, lengths, runs, given_counts);
    CHECK(runs > 1);
    CHECK(on_disk.long_lists > 1);
    CHECK(on_disk.long_lists < weighed_terms);
    CHECK(std::equal(in_memory.postings.begin(), in_memory.postings.end(), on_disk.postings.begin(),
                     on_disk.postings.end(), same));
  }
}

}  // namespace quern
