#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/core/random.hpp"
#include "quern/search/scoring.hpp"
#include "quern/search/top_k.hpp"

#include "catch.hpp"

/// The k best documents and the thresholds of results, compared with sorting and adding up everything.
namespace quern {
namespace {

bool ranks_better(const ScoredDocument& a, const ScoredDocument& b) {
  return a.score != b.score ? a.score > b.score : a.docid < b.docid;
}

std::vector<ScoredDocument> best_by_sorting(std::vector<ScoredDocument> documents, std::size_t k) {
  std::sort(documents.begin(), documents.end(), ranks_better);
  documents.resize(std::min(k, documents.size()));
  return documents;
}

/// All docIDs below `count` once, in random order; few distinct scores, so that there are many ties.
std::vector<ScoredDocument> shuffled_documents(RandomBits& random, docid_t count, std::uint64_t distinct_scores) {
  std::vector<ScoredDocument> documents;
  for (docid_t docid = 0; docid < count; ++docid)
    documents.push_back({docid, static_cast<float>(random.below(distinct_scores)) / 8});
  for (std::size_t i = documents.size(); i > 1; --i) std::swap(documents[i - 1], documents[random.below(i)]);
  return documents;
}

}  // namespace

TEST_CASE("TopK keeps the first documents of a complete sort, with ties by docID", "[query][top_k][property]") {
  RandomBits random(71);
  for (const std::size_t k : {1, 2, 7, 63, 64, 65, 100, 1000}) {
    for (const docid_t count : {0u, 1u, 64u, 65u, 129u, 2500u}) {
      for (const std::uint64_t distinct_scores : {1, 5, 100000}) {
        INFO("k " << k << ", " << count << " documents, " << distinct_scores << " scores");
        const auto documents = shuffled_documents(random, count, distinct_scores);
        TopK top(k, documents.size());
        for (std::size_t i = 0; i < documents.size(); ++i) {
          top.add(documents[i].docid, documents[i].score);
          REQUIRE(top.full() == (i + 1 >= k));
        }
        const auto expected = best_by_sorting(documents, k);
        // worst() may lag behind, but is never better than the k-th best.
        if (top.full()) REQUIRE(!ranks_better(top.worst(), expected.back()));
        REQUIRE(top.take() == expected);
        REQUIRE(!top.full());
        REQUIRE(top.take().empty());
      }
    }
  }
}

TEST_CASE("TopK keeps documents with a score of 0, in any order of docIDs", "[query][top_k]") {
  for (const docid_t scored : {0u, 20u, 99u, 250u}) {
    std::vector<ScoredDocument> documents;
    for (docid_t docid = 1000; docid-- > 0;)
      documents.push_back({docid, docid % 4 == 0 && docid < 4 * scored ? 5.0f : 0.0f});
    TopK top(100, documents.size());
    for (const ScoredDocument& document : documents) top.add(document.docid, document.score);
    CHECK(top.take() == best_by_sorting(documents, 100));
  }
}

TEST_CASE("TopK ranks scores of very different sizes", "[query][top_k][property]") {
  RandomBits random(73);
  for (const std::size_t k : {300, 1000, 5000}) {
    for (const int exponents : {1, 40, 120}) {
      INFO("k " << k << ", " << exponents << " exponents");
      auto documents = shuffled_documents(random, 12000, 50);
      for (ScoredDocument& document : documents)
        document.score = std::ldexp(document.score, static_cast<int>(random.below(exponents)) - 60);
      // Far from all others.
      documents.front().score = 1e30f;
      TopK top(k, documents.size());
      for (const ScoredDocument& document : documents) top.add(document.docid, document.score);
      REQUIRE(top.take() == best_by_sorting(documents, k));
    }
  }
}

TEST_CASE("a cleared TopK starts empty", "[query][top_k]") {
  TopK top(2, 3);
  top.add(1, 5);
  top.add(2, 6);
  REQUIRE(top.full());
  top.clear();
  CHECK_FALSE(top.full());
  top.add(3, 1);
  CHECK(top.take() == std::vector<ScoredDocument>{{3, 1}});
}

TEST_CASE("a document becomes a result if and only if it passes the threshold", "[query][top_k][property]") {
  RandomBits random(73);
  for (const std::size_t k : {1, 3, 20}) {
    const auto documents = shuffled_documents(random, 400, 12);
    TopK top(k, documents.size());
    const Threshold threshold(-1, top);
    std::vector<ScoredDocument> seen;
    for (const ScoredDocument& document : documents) {
      seen.push_back(document);
      const auto expected = best_by_sorting(seen, k);
      const bool is_result = std::find(expected.begin(), expected.end(), document) != expected.end();
      REQUIRE((document.score > threshold.value(document.docid)) == is_result);
      top.add(document.docid, document.score);
    }
  }
}

TEST_CASE("a primed threshold holds until the k-th result is better", "[query][top_k]") {
  TopK top(1, 3);
  const Threshold threshold(2, top);
  CHECK(threshold.value(0) == 2);
  top.add(5, 1);
  CHECK(threshold.value(9) == 2);
  top.add(5, 3);
  CHECK(threshold.value(9) == 3);
  // A lower docID wins ties.
  CHECK(threshold.value(4) == next_below(3));
}

TEST_CASE("no prefix of a passing score is cut, however term scores are rounded", "[query][threshold][property]") {
  RandomBits random(79);
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<float> terms(1 + random.below(12));
    for (float& term : terms)
      term = std::ldexp(static_cast<float>(1 + random.below(1 << 24)), -static_cast<int>(20 + random.below(8)));
    const float score = std::accumulate(terms.begin(), terms.end(), 0.0f);
    // Just below the score, and further below.
    float passed = next_below(score);
    if (trial % 2 == 0) passed *= static_cast<float>(random.below(1000)) / 1000;
    const ScoreCut cut(passed, terms.size(), 0);
    float sum = 0;
    for (std::size_t i = 0; i <= terms.size(); ++i) {
      // Adds up the remaining terms' upper bounds in another order.
      double rest = 0;
      for (std::size_t j = terms.size(); j-- > i;) rest += terms[j];
      REQUIRE(cut.can_pass(double{sum} + rest));
      if (i > 0) REQUIRE(sum > cut.min_score(rest));
      if (i < terms.size()) sum += terms[i];
    }
    REQUIRE(sum == score);
  }
}

TEST_CASE("prefixes that cannot pass are cut, up to rounding", "[query][threshold][property]") {
  RandomBits random(83);
  for (int trial = 0; trial < 20000; ++trial) {
    const std::size_t n = 1 + random.below(12);
    const double passed = static_cast<double>(1 + random.below(1 << 24)) / (1 << 16);
    const double rest = passed * static_cast<double>(random.below(1000)) / 1000;
    const ScoreCut cut(passed, n, -1);
    const double exact = passed / with_slack(1.0, n) - rest;
    const float least = cut.min_score(rest);
    REQUIRE((least + rest) * with_slack(1.0, n) <= passed * (1 + 0x1p-22));
    REQUIRE(double{least} >= exact - std::abs(exact) * 0x1p-22);
    REQUIRE_FALSE(cut.can_pass(passed * (1 - static_cast<double>(n + 1) * 0x1p-23)));
  }
  // All scores, which are at least 0, are above the mark.
  CHECK(ScoreCut(1, 3, -1).min_score(2) == -1);
  CHECK(ScoreCut(1, 3, 0).min_score(2) == 0);
}

}  // namespace quern
