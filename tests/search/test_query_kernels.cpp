#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/core/bm25.hpp"
#include "quern/core/random.hpp"
#include "quern/search/kernels.hpp"

#include "catch.hpp"

/// All levels' kernels against plain definitions.
namespace quern {
namespace {

constexpr docid_t kernel_documents = 3000;

/// Ascending docIDs, followed by a block's padding.
std::vector<docid_t> random_block(RandomBits& random, unsigned size) {
  std::vector<docid_t> docids;
  const std::uint64_t gap = 1 + random.below(kernel_documents / size);
  docid_t docid = static_cast<docid_t>(random.below(gap));
  for (unsigned i = 0; i < size; ++i, docid += 1 + static_cast<docid_t>(random.below(gap))) docids.push_back(docid);
  return docids;
}

template <class Check>
void for_each_level(Check&& check) {
  for (const SimdLevel level : simd_levels()) {
    INFO(name_of(level));
    check(query_kernels_of(level));
  }
}

struct Scored {
  std::vector<docid_t> docids;
  std::vector<float> scores;
  bool operator==(const Scored&) const = default;
};

Scored random_scored(RandomBits& random, std::size_t size) {
  Scored scored;
  docid_t docid = 0;
  for (std::size_t i = 0; i < size; ++i) {
    scored.docids.push_back(docid += 1 + static_cast<docid_t>(random.below(9)));
    scored.scores.push_back(static_cast<float>(random.below(5)));
  }
  return scored;
}

Scored above(const Scored& all, float min) {
  Scored kept;
  for (std::size_t i = 0; i < all.docids.size(); ++i) {
    if (!(all.scores[i] > min)) continue;
    kept.docids.push_back(all.docids[i]);
    kept.scores.push_back(all.scores[i]);
  }
  return kept;
}

}  // namespace

TEST_CASE("all levels find documents in blocks of any size", "[query][kernels][property]") {
  RandomBits random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto size = static_cast<unsigned>(trial < 600 ? 1 + trial % 40 : 1 + random.below(max_block_size));
    const auto block = random_block(random, size);
    std::vector<docid_t> wanted;
    const std::uint64_t share = 1 + random.below(20);
    for (docid_t docid = block.front() < 3 ? 0 : block.front() - 3; docid <= block.back(); ++docid)
      if (random.below(share) == 0 && wanted.size() < max_wanted) wanted.push_back(docid);
    std::vector<FoundPosting> expected;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto at = std::lower_bound(block.begin(), block.end(), wanted[i]);
      if (*at == wanted[i])
        expected.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(at - block.begin())});
    }
    auto padded = block;
    padded.resize(block.size() + kernel_slack, end_docid);
    padded.resize(padded.size() + kernel_slack, block.back());  // must not be taken for the block's
    for_each_level([&](const QueryKernels& kernels) {
      std::vector<FoundPosting> found(wanted.size() + 1);
      const std::size_t half = wanted.size() / 2;
      std::size_t hits = kernels.find(wanted.data(), 0, half, {padded.data(), size}, found.data());
      hits += kernels.find(wanted.data(), half, wanted.size(), {padded.data(), size}, found.data() + hits);
      found.resize(hits);
      REQUIRE(
          std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                     [](FoundPosting a, FoundPosting b) { return a.document == b.document && a.place == b.place; }));
    });
  }
}

TEST_CASE("all levels compute term scores bit for bit", "[query][kernels][property]") {
  RandomBits random(2);
  std::vector<float> constants(kernel_documents);
  for (float& constant : constants) constant = static_cast<float>(random.below(1000)) / 300;
  for (std::size_t n = 0; n < 200; ++n) {
    std::vector<freq_t> freqs;
    std::vector<docid_t> docids;
    for (std::size_t i = 0; i < n; ++i) {
      // Damaged files may contain any frequencies.
      freqs.push_back(random.below(20) == 0 ? static_cast<freq_t>(random.below(std::uint64_t{1} << 32))
                                            : 1 + static_cast<freq_t>(random.below(30)));
      docids.push_back(static_cast<docid_t>(random.below(kernel_documents)));
    }
    auto padded_freqs = freqs;
    auto padded_docids = docids;
    padded_freqs.resize(n + kernel_slack, 7);
    padded_docids.resize(n + kernel_slack, end_docid);
    for_each_level([&](const QueryKernels& kernels) {
      std::vector<float> out(n + kernel_slack);
      kernels.term_scores(padded_freqs.data(), padded_docids.data(), n, {constants.data(), 1.7f}, out.data());
      for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == 1.7f * impact(freqs[i], constants[docids[i]]));
    });
  }
}

TEST_CASE("all levels add term scores and take scores above a minimum", "[query][kernels][property]") {
  RandomBits random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const docid_t begin = static_cast<docid_t>(random.below(1000));
    const std::size_t n = 1 + random.below(400), rounded = (n + kernel_slack - 1) / kernel_slack * kernel_slack;
    const float nothing = trial % 2 == 0 ? 0.0f : -1.0f;
    Scored expected;
    std::vector<docid_t> docids;
    std::vector<float> terms;
    const float min = std::max(nothing, static_cast<float>(random.below(4)) - 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (random.below(3) != 0) continue;
      docids.push_back(begin + static_cast<docid_t>(i));
      terms.push_back(static_cast<float>(1 + random.below(5)));
      if (nothing + terms.back() > min) {
        expected.docids.push_back(docids.back());
        expected.scores.push_back(nothing + terms.back());
      }
    }
    for_each_level([&](const QueryKernels& kernels) {
      std::vector<float> sums(rounded, nothing);
      kernels.add(docids.data(), terms.data(), docids.size(), begin, sums.data());
      Scored taken = {std::vector<docid_t>(rounded + kernel_slack), std::vector<float>(rounded + kernel_slack)};
      const std::size_t count =
          kernels.take_above(sums.data(), n, begin, min, nothing, {taken.docids.data(), taken.scores.data()});
      taken.docids.resize(count);
      taken.scores.resize(count);
      REQUIRE(taken == expected);
      REQUIRE(sums == std::vector<float>(rounded, nothing));
    });
  }
}

TEST_CASE("all levels add impacts times a weight", "[query][kernels][property]") {
  RandomBits random(6);
  for (std::size_t n = 0; n < 150; ++n) {
    std::vector<docid_t> docids;
    std::vector<std::uint8_t> impacts;
    const docid_t begin = static_cast<docid_t>(random.below(1000));
    const auto weight = static_cast<float>(1 + random.below(300));
    std::vector<float> before(5 * n + 5), expected;
    for (float& sum : before) sum = static_cast<float>(random.below(1000));
    expected = before;
    for (docid_t docid = begin; docids.size() < n; docid += 1 + static_cast<docid_t>(random.below(5))) {
      docids.push_back(docid);
      impacts.push_back(static_cast<std::uint8_t>(random.below(256)));
      expected[docid - begin] += weight * static_cast<float>(impacts.back());
    }
    for_each_level([&](const QueryKernels& kernels) {
      std::vector<float> sums = before;
      kernels.add_impacts(docids.data(), impacts.data(), n, weight, begin, sums.data());
      REQUIRE(sums == expected);
    });
  }
}

TEST_CASE("all levels keep scores above a minimum, even in place", "[query][kernels][property]") {
  RandomBits random(4);
  for (std::size_t n = 0; n < 150; ++n) {
    const Scored all = random_scored(random, n);
    const float min = static_cast<float>(random.below(5)) - 1;
    const Scored expected = above(all, min);
    for_each_level([&](const QueryKernels& kernels) {
      // Elements before are overwritten, those after must stay.
      const std::size_t before = random.below(20), after = 20;
      Scored arrays = {std::vector<docid_t>(before, 7), std::vector<float>(before, 7.0f)};
      arrays.docids.insert(arrays.docids.end(), all.docids.begin(), all.docids.end());
      arrays.scores.insert(arrays.scores.end(), all.scores.begin(), all.scores.end());
      arrays.docids.resize(before + n + after, 11);
      arrays.scores.resize(before + n + after, 11.0f);
      const std::size_t kept = kernels.keep_above(arrays.docids.data() + before, arrays.scores.data() + before, n, min,
                                                  {arrays.docids.data(), arrays.scores.data()});
      REQUIRE(kept == expected.docids.size());
      REQUIRE(std::equal(expected.docids.begin(), expected.docids.end(), arrays.docids.begin()));
      REQUIRE(std::equal(expected.scores.begin(), expected.scores.end(), arrays.scores.begin()));
      for (std::size_t i = before + n; i < before + n + after; ++i) {
        REQUIRE(arrays.docids[i] == 11);
        REQUIRE(arrays.scores[i] == 11.0f);
      }
    });
  }
}

TEST_CASE("all levels count the docIDs up to a given one", "[query][kernels][property]") {
  RandomBits random(5);
  for (std::size_t n = 0; n < 100; ++n) {
    const auto docids = random_scored(random, n).docids;
    auto padded = docids;
    padded.resize(n + kernel_slack);  // zeros
    for (const docid_t last : {0u, 5u, static_cast<docid_t>(random.below(5 * n + 1)), end_docid}) {
      const auto expected = std::upper_bound(docids.begin(), docids.end(), last) - docids.begin();
      for_each_level([&](const QueryKernels& kernels) {
        REQUIRE(kernels.count_up_to(padded.data(), n, last) == static_cast<std::size_t>(expected));
      });
    }
  }
}

TEST_CASE("all levels add up bitmaps, and blocks' greatest sums", "[query][kernels][property]") {
  RandomBits random(5);
  struct List {
    std::array<std::uint64_t, bitmap_block> bits = {};
    std::array<std::uint16_t, bitmap_block> ranks = {};
    std::vector<std::uint8_t> impacts;
    std::int32_t weight = 0;
  };
  for (std::size_t n = 0; n < 12; ++n) {
    std::vector<List> lists(n);
    std::vector<float> sums(bitmap_window), expected;
    for (float& sum : sums) sum = static_cast<float>(random.below(3) == 0 ? random.below(1000) : 0);
    expected = sums;
    std::array<std::size_t, bitmap_block> postings = {};
    for (List& list : lists) {
      list.weight = static_cast<std::int32_t>(random.below(4) == 0 ? max_bitmap_weight / 8 : random.below(300));
      const std::uint64_t share = 1 + random.below(20);
      for (unsigned block = 0; block < bitmap_block; ++block) {
        list.ranks[block] = static_cast<std::uint16_t>(list.impacts.size());
        for (unsigned i = 0; i < bitmap_block; ++i) {
          if (random.below(share) != 0) continue;
          list.bits[block] |= std::uint64_t{1} << i;
          list.impacts.push_back(static_cast<std::uint8_t>(random.below(256)));
          expected[block * bitmap_block + i] += static_cast<float>(list.weight * list.impacts.back());
          ++postings[block];
        }
      }
      list.impacts.resize(list.impacts.size() + 64, 255);
    }
    std::vector<BitmapWindow> windows;
    for (const List& list : lists)
      windows.push_back({list.bits.data(), list.ranks.data(), list.impacts.data(), list.weight});
    std::array<float, bitmap_block> greatest = {};
    for (unsigned block = 0; block < bitmap_block; ++block)
      greatest[block] =
          7 + *std::max_element(expected.begin() + block * bitmap_block, expected.begin() + (block + 1) * bitmap_block);
    for_each_level([&](const QueryKernels& kernels) {
      std::vector<float> added = sums;
      for (unsigned block = 0; block < bitmap_block; ++block)
        REQUIRE(kernels.add_bitmaps(windows.data(), n, block, added.data() + block * bitmap_block) == postings[block]);
      REQUIRE(added == expected);
      std::array<float, bitmap_block> bounds;
      bounds.fill(7);
      kernels.add_greatest(added.data(), bounds.data());
      REQUIRE(bounds == greatest);
      const float min = bounds[random.below(bitmap_block)];
      const std::uint64_t blocks = kernels.blocks_above(bounds.data(), min);
      for (unsigned block = 0; block < bitmap_block; ++block) REQUIRE((blocks >> block & 1) == (bounds[block] > min));
    });
    const float min = expected[random.below(bitmap_window)];
    for (unsigned block = 0; block < bitmap_block; ++block) {
      Scored in_block;
      for (unsigned i = 0; i < bitmap_block; ++i)
        if (const float score = expected[block * bitmap_block + i]; score > min) {
          in_block.docids.push_back(1000 + i);
          in_block.scores.push_back(score);
        }
      for_each_level([&](const QueryKernels& kernels) {
        std::vector<float> kept = sums;
        Scored found = {std::vector<docid_t>(bitmap_block + kernel_slack),
                        std::vector<float>(bitmap_block + kernel_slack)};
        std::uint64_t scored = 5;
        const std::size_t count = kernels.score_block(windows.data(), n, block, kept.data() + block * bitmap_block,
                                                      1000, min, {found.docids.data(), found.scores.data()}, &scored);
        found.docids.resize(count);
        found.scores.resize(count);
        REQUIRE(found == in_block);
        REQUIRE(kept == sums);
        REQUIRE(scored == 5 + postings[block]);
      });
    }
  }
}

}  // namespace quern
