#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "quern/core/random.hpp"
#include "quern/index/inverter.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "index/met_lists.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

/// Documents with some postings each, in shuffled docID order, as from a document order.
std::vector<std::vector<Posting>> random_documents(std::size_t count, std::uint64_t terms, std::uint64_t max_postings) {
  RandomBits random(61);
  std::vector<std::vector<Posting>> documents(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::map<term_t, freq_t> freqs;
    // Squaring makes small terms frequent; term 0 is in every document.
    freqs[0] = 1;
    for (std::uint64_t n = random.below(max_postings); n > 0; --n) {
      const std::uint64_t draw = random.below(terms);
      ++freqs[static_cast<term_t>(draw * draw / terms)];
    }
    for (const auto& [term, freq] : freqs)
      documents[i].push_back({term, static_cast<docid_t>(i), random.below(50) == 0 ? UINT32_MAX : freq});
  }
  for (std::size_t i = count; i > 1; --i) std::swap(documents[i - 1], documents[random.below(i)]);
  return documents;
}

struct Met : testing::MetLists {
  std::size_t runs = 0;
};

/// All postings in the inverter's output order.
Met invert(const std::vector<std::vector<Posting>>& documents, std::uint64_t memory_bytes, unsigned threads,
           std::uint64_t expected = 0) {
  const TemporaryFolder folder;
  Inverter inverter(folder.path(""), memory_bytes, threads);
  inverter.expect(expected);
  for (const auto& document : documents) inverter.add(document);
  const auto source = inverter.finish();
  return {testing::met_lists(*source), inverter.num_runs()};
}

std::vector<Posting> sorted(const std::vector<std::vector<Posting>>& documents) {
  std::vector<Posting> postings;
  for (const auto& document : documents) postings.insert(postings.end(), document.begin(), document.end());
  std::sort(postings.begin(), postings.end(),
            [](const Posting& a, const Posting& b) { return std::tie(a.term, a.docid) < std::tie(b.term, b.docid); });
  return postings;
}

}  // namespace

TEST_CASE("Lists are the same whether they fit in memory, spill once, or are merged in many passes",
          "[index][property]") {
  const auto documents = random_documents(5000, 20000, 60);
  const std::vector<Posting> wanted = sorted(documents);
  REQUIRE(wanted.size() > 100000);

  const Met in_memory = invert(documents, 64 << 20, 2);
  CHECK(in_memory.runs == 0);
  CHECK(in_memory.batches > 1);
  CHECK(in_memory.postings == wanted);

  const Met spilled = invert(documents, 1 << 20, 2);
  CHECK(spilled.runs > 1);
  CHECK(spilled.runs < 8);  // half of a megabyte for read buffers: merged in one pass
  CHECK(spilled.postings == wanted);

  // Runs of 1024 postings, two merged at once: seven passes; and lists of more than 1024 postings go to disk.
  const Met tiny = invert(documents, 0, 2);
  CHECK(tiny.runs > 100);
  CHECK(tiny.long_lists > 0);
  CHECK(tiny.postings == wanted);
}

TEST_CASE("Lists are the same with fewer or more postings than expected", "[index]") {
  const auto documents = random_documents(2000, 5000, 80);
  const std::vector<Posting> wanted = sorted(documents);
  for (const std::uint64_t expected : {std::uint64_t{1}, std::uint64_t{wanted.size()}, UINT64_MAX}) {
    INFO(expected << " expected");
    CHECK(invert(documents, 64 << 20, 2, expected).postings == wanted);
    const Met spilled = invert(documents, 1 << 18, 2, expected);
    CHECK(spilled.runs > 1);
    CHECK(spilled.postings == wanted);
  }
}

TEST_CASE("Inverting no postings gives no lists, with and without a spill", "[index]") {
  CHECK(invert({}, 1 << 20, 1).batches == 0);
  CHECK(invert({{}, {}}, 0, 1).batches == 0);
}

TEST_CASE("Exactly as many postings as fit stay in memory, one more spills", "[index]") {
  std::vector<std::vector<Posting>> documents;
  for (docid_t docid = 0; docid < 1024; ++docid) documents.push_back({{docid % 3, docid, 1}});
  const Met full = invert(documents, 0, 1);
  CHECK(full.runs == 0);
  CHECK(full.postings == sorted(documents));
  documents.push_back({{2, 1024, 1}});
  const Met one_more = invert(documents, 0, 1);
  CHECK(one_more.runs == 2);
  CHECK(one_more.postings == sorted(documents));
}

TEST_CASE("There may be more runs than a process may open files", "[index]") {
  struct rlimit before;
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  struct rlimit few = before;
  few.rlim_cur = 40;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto documents = random_documents(3000, 5000, 60);
  Met met;
  CHECK_NOTHROW(met = invert(documents, 0, 1));
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(met.runs > 40);
  CHECK(met.postings == sorted(documents));
}
