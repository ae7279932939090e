#include <algorithm>
#include <set>

#include "quern/codec/short_list.hpp"
#include "quern/core/error.hpp"
#include "quern/core/random.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

struct FewPostings {
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
  bool operator==(const FewPostings&) const = default;
};

constexpr docid_t max_documents = end_docid - 1;

Bytes coded(const FewPostings& list, docid_t num_documents) {
  Bytes bytes;
  const CodedBits bits = put_short_list(list.docids, list.freqs, num_documents, bytes);
  REQUIRE(bits.docid_bits + bits.freq_bits == bytes.size() * 8);
  REQUIRE(bits.freq_bits >= list.freqs.size());
  return bytes;
}

FewPostings decoded(ByteView bytes, std::size_t size, docid_t num_documents) {
  FewPostings list{std::vector<docid_t>(size), std::vector<freq_t>(size)};
  get_short_list(bytes, num_documents, list.docids, list.freqs);
  return list;
}

bool in_range(const FewPostings& list, docid_t num_documents) {
  for (std::size_t i = 0; i < list.docids.size(); ++i) {
    if (list.docids[i] >= num_documents || (i > 0 && list.docids[i] <= list.docids[i - 1])) return false;
    if (list.freqs[i] == 0) return false;
  }
  return true;
}

/// Codes and decodes the list; checks that every truncation throws, since each bit except the padding matters.
void check_list(const FewPostings& list, docid_t num_documents) {
  const Bytes bytes = coded(list, num_documents);
  REQUIRE(decoded(bytes, list.docids.size(), num_documents) == list);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_THROWS_AS(decoded(ByteView(bytes).first(size), list.docids.size(), num_documents), CorruptFile);
}

FewPostings random_list(std::size_t size, docid_t num_documents, RandomBits& random) {
  std::set<docid_t> docids;
  while (docids.size() < size) docids.insert(static_cast<docid_t>(random.below(num_documents)));
  FewPostings list{{docids.begin(), docids.end()}, {}};
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned bits = static_cast<unsigned>(random.below(33));
    list.freqs.push_back(static_cast<freq_t>(std::max<std::uint64_t>(1, random.next() >> 32 >> (32 - bits))));
  }
  return list;
}

}  // namespace

TEST_CASE("All lists over collections of up to seven documents are decoded as encoded", "[codec][property]") {
  for (docid_t num_documents = 1; num_documents <= 7; ++num_documents) {
    for (unsigned chosen = 1; chosen < 1u << num_documents; ++chosen) {
      FewPostings list;
      for (docid_t docid = 0; docid < num_documents; ++docid)
        if (chosen >> docid & 1) list.docids.push_back(docid);
      for (std::size_t i = 0; i < list.docids.size(); ++i) list.freqs.push_back(static_cast<freq_t>(i * i + 1));
      check_list(list, num_documents);
    }
  }
}

TEST_CASE("Lists of every length at the ends of any collection are decoded as encoded", "[codec][property]") {
  for (std::uint32_t size = 1; size <= max_short_list; ++size) {
    for (const docid_t num_documents : {size, size + 1, 2 * size, 1000u, 1u << 20, (1u << 31) + 1, max_documents}) {
      FewPostings first, last, spread;
      for (std::uint32_t i = 0; i < size; ++i) {
        first.docids.push_back(i);
        last.docids.push_back(num_documents - size + i);
        const std::uint64_t steps = size == 1 ? 1 : size - 1;
        spread.docids.push_back(static_cast<docid_t>(std::uint64_t{i} * (num_documents - 1) / steps));
      }
      first.freqs.assign(size, 1);
      last.freqs.assign(size, UINT32_MAX);
      spread.freqs.assign(size, 0x80000000u);
      for (const FewPostings& list : {first, last, spread}) check_list(list, num_documents);
    }
  }
}

TEST_CASE("Random short lists are decoded as encoded", "[codec][property]") {
  RandomBits random(11);
  for (int round = 0; round < 3000; ++round) {
    const auto size = static_cast<std::size_t>(1 + random.below(max_short_list));
    const unsigned bits = static_cast<unsigned>(5 + random.below(28));
    const auto num_documents =
        static_cast<docid_t>(std::clamp<std::uint64_t>(random.next() >> (64 - bits), size, max_documents));
    check_list(random_list(size, num_documents, random), num_documents);
  }
}

TEST_CASE("A list is appended after existing bytes", "[codec]") {
  const FewPostings list{{3, 9}, {1, 2}};
  Bytes bytes = {1, 2, 3};
  put_short_list(list.docids, list.freqs, 10, bytes);
  CHECK(Bytes(bytes.begin(), bytes.begin() + 3) == Bytes{1, 2, 3});
  CHECK(decoded(ByteView(bytes).subspan(3), 2, 10) == list);
}

TEST_CASE("A list of all documents needs bits only for its frequencies", "[codec]") {
  FewPostings list;
  for (docid_t docid = 0; docid < 16; ++docid) list.docids.push_back(docid);
  list.freqs.assign(16, 1);
  CHECK(coded(list, 16).size() == 2);
  CHECK(coded({{0}, {1}}, 1) == Bytes{1});
}

TEST_CASE("Short lists decode any bytes to values in range, or refuse them", "[codec][property]") {
  RandomBits random(13);
  int decoded_lists = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto size = static_cast<std::size_t>(1 + random.below(max_short_list));
    const docid_t num_documents = round % 2 == 0 ? static_cast<docid_t>(size + random.below(20))
                                                 : static_cast<docid_t>(size + random.below(max_documents - size));
    Bytes bytes(random.below(80));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next() | random.next());
    try {
      const FewPostings list = decoded(bytes, size, num_documents);
      REQUIRE(in_range(list, num_documents));
      ++decoded_lists;
      // The code is one to one, so coding again gives the same bits, as far as they were read.
      const Bytes again = coded(list, num_documents);
      REQUIRE(again.size() <= bytes.size());
      REQUIRE(std::equal(again.begin(), again.end() - 1, bytes.begin()));
    } catch (const CorruptFile&) {
    }
  }
  CHECK(decoded_lists > 1000);
  CHECK_THROWS_AS(decoded(Bytes(100, 0xff), 3, 2), CorruptFile);  // more postings than documents
  CHECK_THROWS_AS(decoded(Bytes(100, 0x00), 1, 1), CorruptFile);  // an endless frequency
}
