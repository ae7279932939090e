#include <algorithm>
#include <bit>

#include "quern/codec/maskpfd.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

/// The minimum bits of the arrays that WidthSearch may choose, counted as it does. `values` belong to array number
/// `array`; `tried` are the arrays before it; `n` is the size of the first.
std::uint64_t fewest_bits(const std::vector<std::uint32_t>& values, maskpfd::Arrays tried, unsigned array,
                          std::size_t n) {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t fewest = none;
  if (array > 0 && values.size() > maskpfd::WidthSearch::max_values(array, n)) return none;
  tried.count = array + 1;
  for (unsigned width = 0; width <= maskpfd::max_width(array); ++width) {
    if (array == 0 && width == 31) continue;
    tried.widths[array] = width;
    std::vector<std::uint32_t> highs;
    for (const std::uint32_t value : values) {
      const std::uint64_t high = std::uint64_t{value} >> width;
      if (high != 0) highs.push_back(static_cast<std::uint32_t>(high) - 1);
    }
    const std::uint64_t slots = values.size() * width;
    if (highs.empty()) return tried.are_allowed() ? std::min(fewest, slots) : fewest;
    if (array + 1 == maskpfd::max_arrays) continue;
    const std::uint64_t further = fewest_bits(highs, tried, array + 1, n);
    if (further != none) fewest = std::min(fewest, slots + values.size() + maskpfd::WidthSearch::array_cost + further);
  }
  return fewest;
}

/// Bits of these arrays for the values, counted in the same way.
std::uint64_t bits_of(const maskpfd::Arrays& arrays, std::vector<std::uint32_t> values) {
  std::uint64_t bits = 0;
  for (unsigned array = 0; array < arrays.count; ++array) {
    bits += values.size() * arrays.widths[array];
    std::vector<std::uint32_t> highs;
    for (const std::uint32_t value : values)
      if (std::uint64_t{value} >> arrays.widths[array] != 0) highs.push_back((value >> arrays.widths[array]) - 1);
    REQUIRE((array + 1 < arrays.count || highs.empty()));
    if (array + 1 < arrays.count) bits += values.size();
    values = highs;
  }
  return bits;
}

}  // namespace

TEST_CASE("the header of a maskpfd block round-trips", "[codec]") {
  Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    maskpfd::Header header;
    for (maskpfd::Arrays* arrays : {&header.docids, &header.freqs}) {
      arrays->count = 1 + random() % maskpfd::max_arrays;
      for (unsigned array = 0; array < arrays->count; ++array)
        arrays->widths[array] = static_cast<unsigned>(random() % (maskpfd::max_width(array) + 1));
      if (arrays->widths[0] == 31) arrays->widths[0] = 32;
    }
    const maskpfd::Header read(header.word());
    CHECK(read.docids.count == header.docids.count);
    CHECK(std::ranges::equal(read.docids.widths, header.docids.widths));
    CHECK(read.freqs.count == header.freqs.count);
    CHECK(std::ranges::equal(read.freqs.widths, header.freqs.widths));
  }
}

TEST_CASE("maskpfd's widths give the fewest bits", "[codec][property]") {
  Random random(2);
  maskpfd::WidthSearch search;
  maskpfd::Arrays likely;
  for (unsigned trial = 0; trial < 600; ++trial) {
    const std::size_t n = 1 + random() % 140;
    const auto width = static_cast<unsigned>(random() % 20),
               outlier_width = width + static_cast<unsigned>(random() % 13);
    std::vector<std::uint32_t> values = test::random_values(random, n, width, outlier_width, random() % 400);
    if (trial % 3 == 0) values = test::clustered_list(random, n, 1 + random() % 500).gaps;
    if (trial % 7 == 0) values[random() % n] = static_cast<std::uint32_t>(random());
    likely = search.find(values, likely);
    const std::uint64_t bits = bits_of(likely, values);
    REQUIRE(search.bits() == bits);
    REQUIRE(maskpfd::WidthSearch().find(values, {}).half() == likely.half());
    REQUIRE(bits + maskpfd::WidthSearch::array_cost * (likely.count - 1) == fewest_bits(values, {}, 0, n));
  }
}

TEST_CASE("maskpfd codes values of 31 and 32 bits", "[codec]") {
  for (const std::uint32_t greatest : {0x3fffffffu, 0x40000000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    test::List list{std::vector<std::uint32_t>(64), std::vector<std::uint32_t>(64)};
    list.gaps[9] = list.freqs[5] = list.freqs[63] = greatest;
    const test::CodedList coded = test::encode(*maskpfd_codec.make_encoder({64, 1}), list, 64);
    Words words = coded.words;
    words.resize(words.size() + over_read_bytes / 4);
    const auto decoder = maskpfd_codec.make_decoder({64, 1}, {});
    std::vector<std::uint32_t> out(64 + over_write_values);
    decoder->decode_freqs(WordView(words).first(coded.words.size()), 64, out.data());
    for (unsigned i = 0; i < 64; ++i) REQUIRE(out[i] == list.freqs[i] + 1);
  }
}

TEST_CASE("a truncated maskpfd block is refused", "[codec]") {
  Random random(3);
  test::List list{test::random_values(random, 128, 2), test::random_values(random, 128, 1)};
  for (unsigned i = 0; i < 128; i += 3)  // values of many widths
    list.gaps[i] = list.freqs[i] = static_cast<std::uint32_t>(random()) >> (20 + random() % 9);
  const test::CodedList coded = test::encode(*maskpfd_codec.make_encoder({128, 1}), list, 128);
  const maskpfd::Header header(coded.words[0]);
  REQUIRE((header.docids.count > 2 && header.freqs.count > 2));
  Words words = coded.words;
  words.resize(words.size() + over_read_bytes / 4);
  const auto decoder = maskpfd_codec.make_decoder({128, 1}, {});
  std::vector<std::uint32_t> out(128 + over_write_values);
  for (std::size_t cut = 0; cut < coded.words.size(); ++cut) {
    const WordView part = WordView(words).first(cut);
    CHECK_THROWS_AS(decoder->block_words(part, 128), CorruptFile);
    CHECK_THROWS_AS(decoder->decode_freqs(part, 128, out.data()), CorruptFile);
    CHECK_THROWS_AS(decoder->freq_at(part, 128, 7), CorruptFile);
  }
  CHECK(decoder->block_words(WordView(words).first(coded.words.size()), 128) == coded.words.size());
}

TEST_CASE("a maskpfd block with invalid widths is refused", "[codec]") {
  std::vector<std::uint32_t> out(64 + over_write_values);
  const auto decode = [&](std::uint32_t half) {
    const auto decoder = maskpfd_codec.make_decoder({64, 1}, {});
    Words words(200);
    words[0] = half | half << 16;
    const WordView block = WordView(words).first(150);
    decoder->decode_docids(block, 64, end_docid, out.data());
    decoder->decode_freqs(block, 64, out.data());
    decoder->freq_at(block, 64, 3);
  };
  maskpfd::Arrays arrays;
  arrays.count = 2;
  arrays.widths[1] = 13;
  CHECK_NOTHROW(decode(arrays.half()));
  arrays.widths[0] = 32;  // no bits are left
  CHECK_THROWS_AS(decode(arrays.half()), CorruptFile);
  arrays.widths[0] = 1;
  arrays.count = 3;
  arrays.widths[2] = 2;  // 2^15 and more
  CHECK_THROWS_AS(decode(arrays.half()), CorruptFile);
}

}  // namespace quern
