#include <algorithm>
#include <bit>

#include "quern/codec/simple16.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

Words simple16_of(const std::vector<std::uint32_t>& values) {
  const auto count = static_cast<unsigned>(values.size());
  std::vector<std::uint8_t> widths(count + simple16_slack);
  for (unsigned i = 0; i < count; ++i) widths[i] = static_cast<std::uint8_t>(std::bit_width(values[i]));
  std::vector<std::uint8_t> ways(count);
  Words words(simple16_plan(widths.data(), count, ways.data()));
  simple16_encode(values.data(), count, ways.data(), words.data());
  return words;
}

/// What all levels decode alike, from words with the room behind that decoders need.
std::vector<std::uint32_t> decoded(Words words, unsigned count) {
  const std::size_t size = words.size();
  words.resize(size + over_read_bytes / 4);
  const WordView view = WordView(words).first(size);
  REQUIRE(simple16_skip(view, count) == size);
  std::vector<std::uint32_t> first;
  for (const SimdLevel level : simd_levels()) {
    INFO(name_of(level));
    std::vector<std::uint32_t> values(count + simple16_decode_slack);
    REQUIRE(simple16_decode(kernels_of(level), view, count, values.data()) == size);
    values.resize(count);
    if (first.empty()) first = values;
    REQUIRE(values == first);
    std::vector<std::uint16_t> narrow(count + simple16_decode_slack);
    const bool are_narrow = std::all_of(first.begin(), first.end(), [](auto value) { return value < narrow_values; });
    REQUIRE(simple16_decode_narrow(kernels_of(level), view, count, narrow.data()) == are_narrow);
    narrow.resize(count);
    if (are_narrow) REQUIRE(std::vector<std::uint32_t>(narrow.begin(), narrow.end()) == first);
  }
  return first;
}

}  // namespace

TEST_CASE("Simple16 decodes values of all widths as encoded", "[codec][property]") {
  test::Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    const std::vector<std::uint32_t> values =
        test::random_values(random, random() % 255, trial % 29, static_cast<unsigned>(random() % 29),
                            static_cast<unsigned>(random() % 500));
    REQUIRE(decoded(simple16_of(values), static_cast<unsigned>(values.size())) == values);
  }
}

TEST_CASE("each way of Simple16 fills 28 bits and is used", "[codec]") {
  for (unsigned way = 0; way < 16; ++way) {
    std::vector<std::uint32_t> greatest;
    unsigned bits = 0;
    for (const simple16::Run& run : simple16::ways[way])
      for (unsigned i = 0; i < run.count; ++i, bits += run.width) greatest.push_back((1u << run.width) - 1);
    CHECK(bits == 28);
    CHECK(greatest.size() == simple16::counts[way]);
    const Words words = simple16_of(greatest);
    REQUIRE(words.size() == 1);
    CHECK(words[0] == (way << 28 | 0x0fffffff));
    CHECK(decoded(words, simple16::counts[way]) == greatest);
  }
}

TEST_CASE("Simple16 tells values that fit in 15 bits from greater ones", "[codec]") {
  for (const std::uint32_t value : {0x3fffu, 0x4000u, 0x7ffeu, 0x7fffu, 0x8000u, 0xffffu, 0x10000u, 0xffffffu})
    for (unsigned before = 0; before < 20; ++before) {
      std::vector<std::uint32_t> values(before + 1, 77);
      values[before] = value;
      CHECK(decoded(simple16_of(values), before + 1) == values);
    }
}

TEST_CASE("Simple16 packs 28 ones into a word, and a zero takes as much space as a one", "[codec]") {
  CHECK(simple16_of(std::vector<std::uint32_t>(28, 1)).size() == 1);
  CHECK(simple16_of(std::vector<std::uint32_t>(29, 0)).size() == 2);
  CHECK(simple16_of({(1u << 28) - 1}) == Words{0xffffffff});
  CHECK(simple16_of({}).empty());
}

TEST_CASE("a Simple16 stream that is cut is refused", "[codec]") {
  test::Random random(2);
  const std::vector<std::uint32_t> values = test::random_values(random, 200, 9);
  Words words = simple16_of(values);
  const std::size_t size = words.size();
  words.resize(size + over_read_bytes / 4);
  std::vector<std::uint32_t> out(200 + simple16_decode_slack);
  std::vector<std::uint16_t> narrow(200 + simple16_decode_slack);
  for (std::size_t cut = 0; cut < size; ++cut) {
    for (const SimdLevel level : simd_levels())
      CHECK_THROWS_AS(simple16_decode(kernels_of(level), WordView(words).first(cut), 200, out.data()), CorruptFile);
    for (const SimdLevel level : simd_levels())
      CHECK_THROWS_AS(simple16_decode_narrow(kernels_of(level), WordView(words).first(cut), 200, narrow.data()),
                      CorruptFile);
    CHECK_THROWS_AS(simple16_skip(WordView(words).first(cut), 200), CorruptFile);
  }
}

}  // namespace quern
