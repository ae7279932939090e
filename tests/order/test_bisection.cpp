#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/order/bisection.hpp"
#include "quern/order/order.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "order/first_documents.hpp"

using namespace quern;
using quern::testing::Page;
using quern::testing::TemporaryFolder;

namespace {

using Terms = std::vector<std::uint32_t>;

/// Documents of up to `length` terms, each term from the document's own topic with probability `topical`.
std::vector<Terms> random_documents(std::size_t count, std::uint32_t topics, std::uint64_t length, RandomBits& random) {
  constexpr std::uint32_t terms_of_topic = 40;
  std::vector<Terms> documents(count);
  for (Terms& document : documents) {
    const auto topic = static_cast<std::uint32_t>(random.below(topics));
    std::set<std::uint32_t> terms;
    for (std::uint64_t i = random.below(length + 1); i > 0; --i) {
      const std::uint32_t from = random.below(4) == 0 ? static_cast<std::uint32_t>(random.below(topics)) : topic;
      terms.insert(from * terms_of_topic + static_cast<std::uint32_t>(random.below(terms_of_topic)));
    }
    document.assign(terms.begin(), terms.end());
  }
  return documents;
}

std::uint32_t number_of_terms(const std::vector<Terms>& documents) {
  std::uint32_t most = 0;
  for (const Terms& document : documents)
    for (const std::uint32_t term : document) most = std::max(most, term + 1);
  return most;
}

/// Documents as sets over `terms`, which is overwritten.
std::vector<TermSet> sets_of(std::vector<Terms>& terms) {
  std::vector<TermSet> sets;
  for (Terms& document : terms)
    sets.push_back({document.data(), static_cast<std::uint32_t>(document.size()), static_cast<docid_t>(sets.size())});
  return sets;
}

std::vector<docid_t> numbers_of(std::span<const TermSet> sets) {
  std::vector<docid_t> numbers;
  for (const TermSet& set : sets) numbers.push_back(set.document);
  return numbers;
}

std::vector<docid_t> bisected(std::vector<Terms> documents, unsigned threads, BisectionOptions options = {}) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  threads);  // may exceed the number of cores
  Resources resources = default_resources();
  resources.threads = threads;
  std::vector<TermSet> sets = sets_of(documents);
  bisect(sets, number_of_terms(documents), options, resources);
  return numbers_of(sets);
}

/// Sum of log2 of all gaps, including those of first postings.
double log_gap_bits(const std::vector<Terms>& documents, const std::vector<docid_t>& order) {
  std::map<std::uint32_t, std::size_t> next;
  double bits = 0;
  for (std::size_t docid = 0; docid < order.size(); ++docid) {
    for (const std::uint32_t term : documents[order[docid]]) {
      bits += std::log2(static_cast<double>(docid + 1 - next[term]));
      next[term] = docid + 1;
    }
  }
  return bits;
}

/// The cost that an exchange should reduce, by its definition: d log2(n / (d + 1)) for each half and each term that not
/// all documents contain, where n is half the number of documents.
double model_bits(const std::vector<Terms>& documents, const std::vector<bool>& in_first) {
  std::map<std::uint32_t, std::size_t> counts[2];
  for (std::size_t i = 0; i < documents.size(); ++i)
    for (const std::uint32_t term : documents[i]) ++counts[in_first[i] ? 0 : 1][term];
  double bits = 0;
  for (const int side : {0, 1}) {
    for (const auto& [term, count] : counts[side]) {
      if (count + counts[1 - side][term] == documents.size()) continue;
      const auto d = static_cast<double>(count);
      bits += d * std::log2(static_cast<double>(documents.size()) / 2 / (d + 1));
    }
  }
  return bits;
}

/// Whether each document is in the first half of an order.
std::vector<bool> first_half(const std::vector<docid_t>& order) {
  std::vector<bool> in_first(order.size());
  for (std::size_t i = 0; i < order.size() / 2; ++i) in_first[order[i]] = true;
  return in_first;
}

std::vector<float> log_gains(std::size_t count) {
  std::vector<float> gains;
  for (std::size_t i = 0; i <= count; ++i) {
    const auto n = static_cast<double>(i);
    gains.push_back(static_cast<float>((n + 1) * std::log2(n + 2) - n * std::log2(n + 1)));
  }
  return gains;
}

/// One split of all documents: document numbers in the resulting order.
std::vector<docid_t> split(std::vector<Terms> documents, unsigned iterations) {
  const std::vector<float> gains = log_gains(documents.size());
  RangeSplit split(gains);
  std::vector<TermSet> sets = sets_of(documents);
  const std::uint32_t terms = split.renumber(sets, number_of_terms(documents));
  split.split(sets, terms, iterations, false);
  return numbers_of(sets);
}

/// The order after one exchange, by its definition: the documents with the lowest cost in the first half go there.
/// False if rounding would decide.
bool first_exchange(const std::vector<Terms>& documents, std::vector<docid_t>& order) {
  order = testing::first_documents(documents.size());
  std::vector<bool> in_first = first_half(order);
  std::vector<double> leanings;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool stands_in_first = in_first[i];
    in_first[i] = false;
    const double in_second_bits = model_bits(documents, in_first);
    in_first[i] = true;
    leanings.push_back(in_second_bits - model_bits(documents, in_first));
    in_first[i] = stands_in_first;
  }
  std::stable_sort(order.begin(), order.end(), [&](docid_t a, docid_t b) { return leanings[a] > leanings[b]; });
  const std::size_t half = documents.size() / 2;
  const double edge = leanings[order[half - 1]] - leanings[order[half]];
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half));
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(half), order.end());
  return edge > 1e-3;
}

std::vector<Page> pages_of(const std::vector<Terms>& documents) {
  std::vector<Page> pages;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Page page{"d" + std::to_string(i), "http://a.example/" + std::to_string(i * 7919 % 1000), "", ""};
    for (const std::uint32_t term : documents[i]) page.text += "w" + std::to_string(term) + " ";
    pages.push_back(std::move(page));
  }
  return pages;
}

std::vector<docid_t> bisection_of(const CollectionReader& collection, const TemporaryFolder& folder, unsigned threads,
                                  std::uint64_t memory_bytes) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  OrderOptions options;
  options.by = OrderBy::bisection;
  return make_order(collection, options, {}, testing::small_resources(folder, threads, memory_bytes)).documents;
}

bool is_permutation(std::vector<docid_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers == testing::first_documents(numbers.size());
}

}  // namespace

TEST_CASE("Bisection gives a permutation, the same for any number of threads", "[order][property]") {
  RandomBits random(71);
  for (const std::size_t count : {1, 2, 3, 8, 9, 16, 17, 33, 200, 1000, 5000}) {
    const std::vector<Terms> documents =
        random_documents(count, 1 + static_cast<std::uint32_t>(count / 20), 30, random);
    const std::vector<docid_t> order = bisected(documents, 1);
    REQUIRE(order.size() == count);
    CHECK(is_permutation(order));
    for (const unsigned threads : {2u, 3u}) CHECK(bisected(documents, threads) == order);
  }
}

TEST_CASE("An exchange moves the documents with the largest gain", "[order][property]") {
  RandomBits random(73);
  int compared = 0;
  for (int repeat = 0; repeat < 120; ++repeat) {
    const std::size_t count = 2 + random.below(30);
    const std::vector<Terms> documents = random_documents(count, 3, 12, random);
    std::vector<docid_t> wanted;
    if (!first_exchange(documents, wanted)) continue;
    ++compared;
    CHECK(split(documents, 1) == wanted);
  }
  CHECK(compared > 30);
}

TEST_CASE("Splitting shrinks the modelled gaps of both halves", "[order]") {
  RandomBits random(79);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const std::vector<Terms> documents = random_documents(300, 6, 25, random);
    CHECK(model_bits(documents, first_half(split(documents, 20))) <
          0.97 * model_bits(documents, first_half(testing::first_documents(300))));
  }
}

TEST_CASE("Two interleaved topics are separated", "[order]") {
  std::vector<Terms> documents(64);
  RandomBits random(83);
  for (std::size_t i = 0; i < documents.size(); ++i)
    for (std::uint32_t term = 0; term < 20; ++term)
      if (random.below(3) != 0) documents[i].push_back(term + (i % 2 == 0 ? 0 : 20));
  const std::vector<docid_t> order = bisected(documents, 2);
  for (std::size_t i = 1; i < 32; ++i) {
    CHECK(order[i] % 2 == order[0] % 2);
    CHECK(order[32 + i] % 2 != order[0] % 2);
  }
}

TEST_CASE("Bisection gives smaller gaps than a random order", "[order][property]") {
  RandomBits random(89);
  const std::vector<Terms> documents = random_documents(3000, 50, 40, random);
  CHECK(log_gap_bits(documents, bisected(documents, 2)) <
        0.7 * log_gap_bits(documents, testing::first_documents(3000)));
}

TEST_CASE("Documents that bisection can't distinguish keep their order", "[order]") {
  for (const std::size_t count : {0, 1, 2, 3, 17, 100}) {
    CHECK(bisected(std::vector<Terms>(count), 2) == testing::first_documents(count));
    CHECK(bisected(std::vector<Terms>(count, {4, 2, 9}), 2) == testing::first_documents(count));
    std::vector<Terms> strangers(count);
    for (std::size_t i = 0; i < count; ++i) strangers[i] = {static_cast<std::uint32_t>(i)};
    CHECK(bisected(strangers, 2) == testing::first_documents(count));
  }
}

TEST_CASE("Duplicate terms in a document, as in damaged collections, are not an error", "[order]") {
  RandomBits random(97);
  std::vector<Terms> documents = random_documents(40, 4, 10, random);
  for (std::size_t i = 0; i < documents.size(); i += 3) documents[i].insert(documents[i].end(), 100, 5);
  CHECK(is_permutation(bisected(documents, 2)));
}

TEST_CASE("Small ranges keep their order", "[order]") {
  RandomBits random(97);
  const std::vector<Terms> documents = random_documents(50, 5, 20, random);
  CHECK(bisected(documents, 2, {50, 20}) == testing::first_documents(50));
  CHECK(bisected(documents, 2, {49, 20}) != testing::first_documents(50));
  CHECK(bisected(documents, 2, {8, 0}) == testing::first_documents(50));
}

TEST_CASE("A collection's bisection does not depend on threads, memory or chunks", "[order][property]") {
  const TemporaryFolder folder;
  RandomBits random(101);
  const std::vector<Terms> documents = random_documents(700, 20, 25, random);
  const CollectionReader collection = testing::collection_of(folder, pages_of(documents));
  REQUIRE(collection.num_chunks() > 3);
  const std::vector<docid_t> order = bisection_of(collection, folder, 1, 64 << 20);
  CHECK(is_permutation(order));
  CHECK(log_gap_bits(documents, order) < 0.8 * log_gap_bits(documents, testing::first_documents(700)));
  CHECK(bisection_of(collection, folder, 2, 1 << 20) == order);
  CHECK(bisection_of(collection, folder, 3, 1 << 30) == order);
  CHECK(bisection_of(testing::collection_of(folder, pages_of(documents), 100000), folder, 2, 64 << 20) == order);
}

TEST_CASE("Collections of a few documents, some of them empty, are bisected", "[order]") {
  const TemporaryFolder folder;
  for (const std::size_t count : {1, 2, 3, 20}) {
    std::vector<Page> pages = pages_of(std::vector<Terms>(count, {1, 2}));
    for (std::size_t i = 0; i < count; i += 2) pages[i].text = "";
    pages.back().text = "w7";
    const CollectionReader collection = testing::collection_of(folder, pages);
    CHECK(is_permutation(bisection_of(collection, folder, 2, 1 << 20)));
  }
}

TEST_CASE("Bisection that does not fit in memory reports the size that it needs", "[order]") {
  const TemporaryFolder folder;
  RandomBits random(103);
  const CollectionReader collection = testing::collection_of(folder, pages_of(random_documents(700, 20, 25, random)));
  CHECK_THROWS_WITH(bisection_of(collection, folder, 1, 40000),
                    Catch::Contains("the order bisection of 700 documents needs") &&
                        Catch::Contains(std::string(option_name<"memory">) + " allows 39.1K"));
}
